/*
 * Responsible for prompts/list and prompts/get: checking arguments and inserting them into the text.
 */
#include "mcp/prompts.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/similar.h"
#include "mcp/client.h"
#include "mcp/extension.h"
#include "mcp/method.h"
#include "mcp/request.h"

#define LONGEST_VALUE 65536

static json_t *describe(const struct prompt *prompt)
{
    json_t *arguments = json_array();
    for (const struct prompt_argument *a = prompt->arguments; a->name != NULL; a++)
        json_array_append_new(arguments, json_pack("{s:s,s:s,s:b}", "name", a->name, "description",
                                                   a->description, "required", a->is_required));
    return json_pack("{s:s,s:s,s:s,s:o}", "name", prompt->name, "title", prompt->title, "description",
                     prompt->description, "arguments", arguments);
}

bool methods_prompts_list(struct request *r, const json_t *params)
{
    if (!request_check_cursor(r, params))
        return false;
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"prompts\":[");
    for (size_t i = 0; i < prompts_count(); i++) {
        strbuf_adds(out, i ? "," : "");
        json_write_new(out, describe(prompts_at(i)));
    }
    extension_add_items(request_client(r)->options.extension, out, "prompts");
    strbuf_addc(out, ']');
    return request_finish(r);
}

static const struct prompt_argument *find_argument(const struct prompt *prompt, const char *name)
{
    for (const struct prompt_argument *a = prompt->arguments; a->name != NULL; a++) {
        if (strcmp(a->name, name) == 0)
            return a;
    }
    return NULL;
}

static bool refuse_unknown(struct request *r, const struct prompt *prompt, const char *name)
{
    struct similar search;
    struct jsonrpc_slice asked = {name, strlen(name)};
    similar_init(&search, name);
    for (const struct prompt_argument *a = prompt->arguments; a->name != NULL; a++)
        similar_offer(&search, a->name);
    return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: the prompt %s has no argument %.*s%s%s%s",
                        prompt->name, jsonrpc_quotable(asked), name,
                        search.best != NULL ? ". Did you mean " : "", search.best != NULL ? search.best : "",
                        search.best != NULL ? "?" : "");
}

static bool has_value(const json_t *given, const char *name)
{
    return json_string_length(json_object_get(given, name)) > 0;
}

/* False: the request was answered. An empty string counts as absent, because clients send the empty fields
 * of forms. */
static bool check_arguments(struct request *r, const struct prompt *prompt, json_t *given)
{
    const char *name;
    json_t *value;
    json_object_foreach(given, name, value) {
        if (find_argument(prompt, name) == NULL)
            return refuse_unknown(r, prompt, name);
        if (!json_is_string(value) || json_string_length(value) > LONGEST_VALUE)
            return request_fail(r, JSONRPC_INVALID_PARAMS,
                                "Invalid params: the argument %s must be a string of at most %d bytes", name,
                                LONGEST_VALUE);
    }
    for (const struct prompt_argument *a = prompt->arguments; a->name != NULL; a++)
        if (a->is_required && !has_value(given, a->name))
            return request_fail(r, JSONRPC_INVALID_PARAMS,
                                "Invalid params: the prompt %s needs the argument %s. %s", prompt->name,
                                a->name, a->description);
    return true;
}

/* Append one line of the text, up to ${end}; nothing if it uses an absent argument. */
static void add_line(struct strbuf *out, const char *line, const char *end, const json_t *given)
{
    size_t start = out->len;
    while (line < end) {
        const char *brace = memchr(line, '{', (size_t)(end - line));
        strbuf_add(out, line, (size_t)((brace != NULL ? brace : end) - line));
        if (brace == NULL)
            return;
        line = memchr(brace, '}', (size_t)(end - brace));
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(line - brace - 1), brace + 1);
        line++;
        if (!has_value(given, name)) {
            out->len = start;
            return;
        }
        json_t *value = json_object_get(given, name);
        strbuf_add(out, json_string_value(value), json_string_length(value));
    }
}

static void add_text(struct strbuf *out, const char *text, const json_t *given)
{
    const char *newline;
    for (; *text; text = newline) {
        newline = strchr(text, '\n');
        newline = newline != NULL ? newline + 1 : text + strlen(text);
        add_line(out, text, newline, given);
    }
}

bool methods_prompts_get(struct request *r, const json_t *params)
{
    const json_t *name = json_object_get(params, "name");
    json_t *given = json_object_get(params, "arguments");
    struct jsonrpc_slice asked = {json_string_value(name), json_string_length(name)};
    if (!json_is_string(name))
        return request_fail(r, JSONRPC_INVALID_PARAMS,
                            "Invalid params: name must be a string, the name of a prompt");
    const struct prompt *prompt = strlen(asked.bytes) == asked.len ? prompts_find(asked.bytes) : NULL;
    if (prompt == NULL) {
        struct similar search;
        similar_init(&search, asked.bytes);
        for (size_t i = 0; i < prompts_count(); i++)
            similar_offer(&search, prompts_at(i)->name);
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Unknown prompt: %.*s%s%s%s", jsonrpc_quotable(asked),
                            asked.bytes, search.best != NULL ? ". Did you mean " : "",
                            search.best != NULL ? search.best : "", search.best != NULL ? "?" : "");
    }
    if (given != NULL && !json_is_object(given) && !json_is_null(given))
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: arguments must be an object");
    given = json_is_object(given) ? given : NULL;
    if (!check_arguments(r, prompt, given))
        return false;
    struct strbuf text = {0};
    add_text(&text, prompt->text, given);
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"description\":");
    json_write_string(out, prompt->description, strlen(prompt->description));
    strbuf_adds(out, ",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    json_write_string(out, strbuf_string(&text), text.len);
    strbuf_adds(out, "}}]");
    strbuf_fini(&text);
    return request_finish(r);
}
