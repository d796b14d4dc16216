/*
 * Responsible for completion/complete: the possible values of an argument of a prompt or a variable of a
 * resource template. The server knows the names of sessions; for other names it asks a session.
 */
#include <string.h>
#include <strings.h>

#include "base/json_write.h"
#include "calls/toolbox.h"
#include "mcp/calls.h"
#include "mcp/client.h"
#include "mcp/method.h"
#include "mcp/prompts.h"
#include "mcp/request.h"
#include "mcp/resources.h"
#include "session/session.h"
#include "tools/complete_names.h"

#define LONGEST_VALUE 1000

/* The terms of tool_complete_names. */
static const char *const name_types[] = {
    [NAMES_SYMBOLS] = "symbols",
    [NAMES_PACKAGES] = "packages",
    [NAMES_SYSTEMS] = "systems",
};

static bool finish(struct request *r, const json_t *names, size_t total)
{
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"completion\":{\"values\":");
    if (names != NULL)
        json_write_value(out, names);
    else
        strbuf_adds(out, "[]");
    strbuf_addf(out, ",\"total\":%zu,\"hasMore\":%s}", total,
                total > json_array_size(names) ? "true" : "false");
    return request_finish(r);
}

static bool finish_with_sessions(struct request *r, const char *prefix)
{
    const struct toolbox *toolbox = request_client(r)->options.toolbox;
    struct session *s =
        toolbox != NULL && toolbox->sessions != NULL ? sessions_first(toolbox->sessions) : NULL;
    json_t *names = json_array();
    size_t total = 0;
    for (; s != NULL; s = sessions_next(s)) {
        if (strncasecmp(session_name(s), prefix, strlen(prefix)) != 0)
            continue;
        if (total++ < COMPLETE_NAMES_MOST)
            json_array_append_new(names, json_string(session_name(s)));
    }
    bool is_finished = finish(r, names, total);
    json_decref(names);
    return is_finished;
}

/* If the look-up fails, return no completions: no client shows an error. */
static void on_names(void *arg, const struct tool_result *result)
{
    struct request *r = arg;
    finish(r, json_object_get(result->structured, "names"),
           (size_t)json_integer_value(json_object_get(result->structured, "total")));
}

static void copy_text(json_t *arguments, const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    if (json_string_length(value) > 0 && strlen(json_string_value(value)) == json_string_length(value))
        json_object_set_new(arguments, name, json_string(json_string_value(value)));
}

static bool ask_session(struct request *r, enum names names, const char *prefix, const json_t *chosen)
{
    json_t *arguments = json_pack("{s:s,s:s}", "type", name_types[names], "prefix", prefix);
    copy_text(arguments, chosen, "package");
    copy_text(arguments, chosen, "session");
    calls_use(r, &tool_complete_names, arguments, on_names);
    return true;
}

/* False: there is no such argument. */
static bool find_prompt_argument(const struct prompt *prompt, const char *name, enum names *names)
{
    for (const struct prompt_argument *a = prompt->arguments; a->name != NULL; a++) {
        if (strcmp(a->name, name) == 0) {
            *names = a->names;
            return true;
        }
    }
    return false;
}

static bool find_variable(const struct resource *resource, const char *name, enum names *names)
{
    static const struct {
        const char *variable;
        enum names names;
    } known[] = {{"{session}", NAMES_SESSIONS}, {"{package}", NAMES_PACKAGES}, {"{name}", NAMES_SYMBOLS}};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].variable) == len + 2 && memcmp(known[i].variable + 1, name, len) == 0 &&
            strstr(resource->uri, known[i].variable) != NULL) {
            *names = known[i].names;
            return true;
        }
    }
    return false;
}

/* What the argument of the reference names. False: the request was answered. */
static bool find_names(struct request *r, const json_t *params, enum names *names)
{
    const json_t *ref = json_object_get(params, "ref");
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *argument = json_string_value(json_object_get(json_object_get(params, "argument"), "name"));
    const json_t *key = NULL;
    const struct prompt *prompt = NULL;
    const struct resource *resource = NULL;
    if (type != NULL && strcmp(type, "ref/prompt") == 0)
        key = json_object_get(ref, "name");
    else if (type != NULL && strcmp(type, "ref/resource") == 0)
        key = json_object_get(ref, "uri");
    if (!json_is_string(key))
        return request_fail(
            r, JSONRPC_INVALID_PARAMS,
            "Invalid params: ref must be a ref/prompt with a name or a ref/resource with a uri");
    if (strcmp(type, "ref/prompt") == 0)
        prompt = prompts_find(json_string_value(key));
    else
        resource = resource_find_template(json_string_value(key), json_string_length(key));
    if (prompt == NULL && resource == NULL)
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: ref: unknown %s",
                            strcmp(type, "ref/prompt") == 0 ? "prompt" : "resource");
    bool is_known = prompt != NULL ? find_prompt_argument(prompt, argument, names)
                                   : find_variable(resource, argument, names);
    return is_known || request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: argument: %s has no %.100s",
                                    prompt != NULL ? "this prompt" : "this resource", argument);
}

bool methods_completion_complete(struct request *r, const json_t *params)
{
    const json_t *argument = json_object_get(params, "argument"), *value = json_object_get(argument, "value");
    const json_t *chosen = json_object_get(json_object_get(params, "context"), "arguments");
    enum names names = NAMES_NONE;
    if (!json_is_string(json_object_get(argument, "name")) || !json_is_string(value))
        return request_fail(r, JSONRPC_INVALID_PARAMS,
                            "Invalid params: argument must have a name and a value, both strings");
    if (!find_names(r, params, &names))
        return false;
    if (names == NAMES_SESSIONS)
        return finish_with_sessions(r, json_string_value(value));
    if (names == NAMES_NONE || json_string_length(value) > LONGEST_VALUE ||
        strlen(json_string_value(value)) != json_string_length(value))
        return finish(r, NULL, 0);
    return ask_session(r, names, json_string_value(value), chosen);
}
