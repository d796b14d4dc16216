/*
 * Responsible for resources: their table, one row each, parsing addresses, listing and reading.
 */
#include "mcp/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/toolbox.h"
#include "mcp/client.h"
#include "mcp/extension.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "session/session.h"
#include "tools/table.h"

#define LONGEST_URI 1000
#define MOST_SESSIONS_LISTED 250 /* clients can form the addresses of other sessions from the templates */

#define LONGEST_HISTORY 4000000 /* bytes, the most that session-history takes */

#define NOT_FOUND "Resource not found"

#define BY(news) (1u << (news))

/* clang-format off */
static const struct resource table[] = {
    {.uri = "lisp://guide", .name = "guide", .title = "Usage guide",
     .description = "How to work with this server.", .mime_type = "text/plain", .tool = "get-usage-guide"},
    {.uri = "lisp://session/{session}/transcript", .name = "transcript", .title = "Transcript",
     .description = "The last 200 evaluations of the session and how each ended.", .mime_type = "text/plain",
     .tool = "session-history", .argument = "limit", .value = "200",
     .changed_by = BY(SESSIONS_STATE) | BY(SESSIONS_CAME) | BY(SESSIONS_WENT)},
    {.uri = "lisp://session/{session}/source", .name = "source", .title = "Source",
     .description = "The evaluations of the session as a Lisp file that loads.",
     .mime_type = "text/x-common-lisp", .tool = "session-history", .argument = "format", .value = "lisp",
     .longest = LONGEST_HISTORY, .changed_by = BY(SESSIONS_STATE) | BY(SESSIONS_CAME) | BY(SESSIONS_WENT)},
    {.uri = "lisp://session/{session}/last-error", .name = "last-error", .title = "Last error",
     .description = "The last error of the session, unless an evaluation has succeeded since.",
     .mime_type = "text/plain", .tool = "describe-last-error",
     .changed_by = BY(SESSIONS_ERROR) | BY(SESSIONS_CAME) | BY(SESSIONS_WENT)},
    {.uri = "lisp://session/{session}/definitions", .name = "definitions", .title = "Definitions",
     .description = "The definitions made in the session.", .mime_type = "text/plain",
     .tool = "list-definitions", .changed_by = BY(SESSIONS_STATE) | BY(SESSIONS_CAME) | BY(SESSIONS_WENT)},
    {.uri = "lisp://session/{session}/events{?after,before,limit}", .name = "events", .title = "Events",
     .description = "What has happened in the session, step by step.", .mime_type = "application/json",
     .tool = "session-events", .changed_by = BY(SESSIONS_EVENTS) | BY(SESSIONS_CAME) | BY(SESSIONS_WENT)},
    {.uri = "lisp://symbol/{package}/{name}", .name = "symbol", .title = "Symbol",
     .description = "Every meaning of a symbol in the default session.", .mime_type = "text/plain",
     .tool = "describe-symbol", .is_of_default_session = true},
    {.uri = "lisp://session/{session}/symbol/{package}/{name}", .name = "session-symbol",
     .title = "Symbol in a session", .description = "Every meaning of a symbol in this session.",
     .mime_type = "text/plain", .tool = "describe-symbol"},
};
/* clang-format on */

size_t resources_count(void)
{
    return sizeof table / sizeof *table;
}

const struct resource *resources_at(size_t n)
{
    return &table[n];
}

/* The value of one variable, percent-decoded; NULL if that is not text. */
static json_t *decode(const char *text, size_t len)
{
    char decoded[LONGEST_URI];
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            decoded[count++] = text[i];
            continue;
        }
        if (len - i < 3 || text_hex_digit(text[i + 1]) < 0 || text_hex_digit(text[i + 2]) < 0)
            return NULL;
        decoded[count++] = (char)(text_hex_digit(text[i + 1]) << 4 | text_hex_digit(text[i + 2]));
        i += 2;
    }
    if (count == 0 || memchr(decoded, '\0', count) != NULL || !utf8_is_valid(decoded, count))
        return NULL;
    return json_stringn(decoded, count);
}

/* The variables after the question mark: numbers, each of which the template lists: "{?after,limit}". */
static bool take_query(const char *listed, const char *query, const char *end, json_t *variables)
{
    while (query < end) {
        const char *equals = memchr(query, '=', (size_t)(end - query));
        size_t len = equals == NULL ? 0 : (size_t)(equals - query);
        char name[32], number[20];
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : 0), query);
        const char *found = len == 0 ? NULL : strstr(listed, name);
        if (found == NULL || strlen(name) != len || strchr(",}", found[len]) == NULL ||
            strchr("?,", found[-1]) == NULL)
            return false;
        const char *value = equals + 1, *stop = memchr(value, '&', (size_t)(end - value));
        size_t digits = (size_t)((stop == NULL ? end : stop) - value);
        if (digits == 0 || digits > 16)
            return false;
        snprintf(number, sizeof number, "%.*s", (int)digits, value);
        if (strspn(number, "0123456789") != digits)
            return false;
        json_object_set_new(variables, name, json_integer(strtoll(number, NULL, 10)));
        query = stop == NULL ? end : stop + 1;
    }
    return true;
}

/* Whether ${uri} matches ${template}; ${variables} receives the variables. The last one may contain
 * slashes, because / is a symbol. */
static bool take_apart(const char *template, const char *uri, size_t len, json_t *variables)
{
    const char *end = uri + len;
    while (*template) {
        if (*template != '{') {
            if (uri == end || *uri++ != *template ++)
                return false;
            continue;
        }
        if (template[1] == '?')
            return uri == end || (*uri == '?' && take_query(template + 1, uri + 1, end, variables));
        const char *brace = strchr(template, '}');
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(brace - template - 1), template + 1);
        template = brace + 1;
        const char *stop = *template ? memchr(uri, *template, (size_t)(end - uri)) : end;
        json_t *value = stop != NULL ? decode(uri, (size_t)(stop - uri)) : NULL;
        if (value == NULL)
            return false;
        json_object_set_new(variables, name, value);
        uri = stop;
    }
    return uri == end;
}

/* The row that matches the address ${uri}; NULL if there is none. ${variables} receives a given object of
 * the values of its variables, and is unchanged if there is no such row. */
static const struct resource *match(const char *uri, size_t len, json_t **variables)
{
    if (len > LONGEST_URI)
        return NULL;
    for (size_t i = 0; i < resources_count(); i++) {
        json_t *found = json_object();
        if (take_apart(table[i].uri, uri, len, found)) {
            *variables = found;
            return &table[i];
        }
        json_decref(found);
    }
    return NULL;
}

const struct resource *resource_find_template(const char *uri, size_t len)
{
    for (size_t i = 0; i < resources_count(); i++) {
        if (strlen(table[i].uri) == len && memcmp(table[i].uri, uri, len) == 0)
            return &table[i];
    }
    json_t *variables;
    const struct resource *resource = match(uri, len, &variables);
    if (resource != NULL)
        json_decref(variables);
    return resource;
}

unsigned resource_changed_by(const char *uri, size_t len, char **session)
{
    json_t *variables;
    const struct resource *resource = match(uri, len, &variables);
    *session = NULL;
    if (resource == NULL)
        return 0;
    if (resource->changed_by != 0)
        *session = xstrdup(json_string_value(json_object_get(variables, "session")));
    json_decref(variables);
    return resource->changed_by;
}

unsigned resources_changed_by(void)
{
    unsigned all = 0;
    for (size_t i = 0; i < resources_count(); i++)
        all |= table[i].changed_by;
    return all;
}

/* Append the description of a resource or, with the key "uriTemplate", of a template, after those before it.
 */
static void add_description(struct strbuf *out, const struct resource *resource, const char *key,
                            const char *uri, const char *name)
{
    strbuf_adds(out, out->bytes[out->len - 1] == '[' ? "" : ",");
    json_write_new(out, json_pack("{s:s,s:s,s:s,s:s,s:s}", key, uri, "name", name, "title", resource->title,
                                  "description", resource->description, "mimeType", resource->mime_type));
}

static bool is_template(const struct resource *resource)
{
    return strchr(resource->uri, '{') != NULL;
}

/* Templates whose only variable is the session are listed for each session. */
static bool is_of_session(const struct resource *resource)
{
    const char *brace = strchr(resource->uri, '{');
    return brace != NULL && strncmp(brace, "{session}", strlen("{session}")) == 0 &&
           strchr(brace + 1, '{') == NULL;
}

static void add_instance(struct strbuf *out, const struct resource *resource, const char *session)
{
    const char *brace = strchr(resource->uri, '{');
    struct strbuf uri = {0}, name = {0};
    /* The name of a session needs no encoding. */
    strbuf_addf(&uri, "%.*s%s%s", (int)(brace - resource->uri), resource->uri, session,
                strchr(brace, '}') + 1);
    strbuf_addf(&name, "%s/%s", session, resource->name);
    add_description(out, resource, "uri", strbuf_string(&uri), strbuf_string(&name));
    strbuf_fini(&uri);
    strbuf_fini(&name);
}

static void add_instances(const struct client *client, struct strbuf *out)
{
    const struct toolbox *toolbox = client->options.toolbox;
    struct session *session =
        toolbox != NULL && toolbox->sessions != NULL ? sessions_first(toolbox->sessions) : NULL;
    for (size_t listed = 0; session != NULL && listed < MOST_SESSIONS_LISTED;
         session = sessions_next(session), listed++)
        for (size_t i = 0; i < resources_count(); i++)
            if (is_of_session(&table[i]))
                add_instance(out, &table[i], session_name(session));
}

static bool answer_list(struct request *r, const json_t *params, const char *list, bool are_templates)
{
    if (!request_check_cursor(r, params))
        return false;
    struct strbuf *out = request_result(r);
    strbuf_addf(out, "\"%s\":[", list);
    for (size_t i = 0; i < resources_count(); i++)
        if (is_template(&table[i]) == are_templates)
            add_description(out, &table[i], are_templates ? "uriTemplate" : "uri", table[i].uri,
                            table[i].name);
    if (!are_templates)
        add_instances(request_client(r), out);
    extension_add_items(request_client(r)->options.extension, out, list);
    strbuf_addc(out, ']');
    return request_finish(r);
}

bool methods_resources_list(struct request *r, const json_t *params)
{
    return answer_list(r, params, "resources", false);
}

bool methods_resources_templates_list(struct request *r, const json_t *params)
{
    return answer_list(r, params, "resourceTemplates", true);
}

static void fail_missing(struct request *r, const char *uri, size_t len, const char *message)
{
    struct strbuf data = {0};
    strbuf_adds(&data, "{\"uri\":");
    json_write_string(&data, uri, len > LONGEST_URI ? utf8_floor(uri, len, LONGEST_URI) : len);
    strbuf_addc(&data, '}');
    request_fail_with(r, request_revision(r)->missing_resource_code, message, strbuf_string(&data));
    strbuf_fini(&data);
}

static bool is_there(const struct client *client, const char *session)
{
    const struct toolbox *toolbox = client->options.toolbox;
    return toolbox != NULL && toolbox->sessions != NULL && sessions_find(toolbox->sessions, session) != NULL;
}

/*
 * The row and the variables of the uri in ${params}. Its session must exist; with ${may_come}, the default
 * session need not exist yet. NULL: the request was answered.
 */
static const struct resource *find_resource(struct request *r, const json_t *params, bool may_come,
                                            json_t **variables)
{
    struct client *client = request_client(r);
    const json_t *uri = json_object_get(params, "uri");
    if (!json_is_string(uri)) {
        request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: uri must be a string");
        return NULL;
    }
    const struct resource *resource = match(json_string_value(uri), json_string_length(uri), variables);
    const char *session = resource != NULL ? json_string_value(json_object_get(*variables, "session")) : NULL;
    if (resource != NULL && resource->is_of_default_session)
        session = client->options.default_session;
    bool is_of_default = session != NULL && strcmp(session, client->options.default_session) == 0;
    if (resource != NULL && (session == NULL || is_there(client, session) || (may_come && is_of_default)))
        return resource;
    if (resource != NULL)
        json_decref(*variables);
    fail_missing(r, json_string_value(uri), json_string_length(uri),
                 is_of_default
                     ? "Resource not found: the default session has not been started; evaluate-lisp "
                       "starts it"
                     : NOT_FOUND);
    return NULL;
}

const char *resources_check_uri(struct request *r, const json_t *params)
{
    json_t *variables;
    if (find_resource(r, params, true, &variables) == NULL)
        return NULL;
    json_decref(variables);
    return json_string_value(json_object_get(params, "uri"));
}

/* A resource that is being read. */
struct reading {
    struct request *request;
    struct tool_call *call; /* NULL before it has started */
    const struct resource *resource;
    json_t *uri;
};

static void reading_free(struct reading *reading)
{
    json_decref(reading->uri);
    free(reading);
}

static void cancel_reading(void *pending)
{
    struct reading *reading = pending;
    call_cancel(reading->call);
    reading_free(reading);
}

static void on_read(void *arg, const struct tool_result *result)
{
    struct reading *reading = arg;
    struct request *r = reading->request;
    const char *uri = json_string_value(reading->uri);
    size_t len = json_string_length(reading->uri);
    if (result->is_absent) {
        fail_missing(r, uri, len, NOT_FOUND);
    } else if (result->is_error) {
        request_fail(r, JSONRPC_INTERNAL_ERROR, "Internal error: the resource could not be read: %s",
                     strbuf_string(result->text));
    } else {
        struct strbuf *out = request_result(r);
        strbuf_adds(out, "\"contents\":[{\"uri\":");
        json_write_string(out, uri, len);
        strbuf_addf(out, ",\"mimeType\":\"%s\",\"text\":", reading->resource->mime_type);
        json_write_string(out, strbuf_string(result->text), result->text->len);
        strbuf_adds(out, "}]");
        request_finish(r);
    }
    reading_free(reading);
}

bool methods_resources_read(struct request *r, const json_t *params)
{
    struct client *client = request_client(r);
    json_t *variables;
    const struct resource *resource = find_resource(r, params, false, &variables);
    const struct tool *tool = resource != NULL ? registry_find(&tool_table, resource->tool) : NULL;
    if (resource == NULL)
        return false;
    CHECK(tool != NULL);
    if (resource->argument != NULL)
        json_object_set_new(variables, resource->argument, json_string(resource->value));
    /* A page of text can be cut, for a reader who asks for the rest; a file cannot. */
    if (resource->longest > 0)
        json_object_set_new(variables, "max-output", json_integer(resource->longest));
    struct err err;
    json_t *arguments = arguments_check(tool, registry_former(&tool_table, resource->tool), variables, &err);
    json_decref(variables);
    if (arguments == NULL)
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: uri: %s", err.message);
    struct reading *reading = xcalloc(1, sizeof *reading);
    reading->request = r;
    reading->resource = resource;
    reading->uri = json_incref(json_object_get(params, "uri"));
    struct tool_call_options options = {
        .default_session = client->options.default_session,
        .is_for_resource = true,
        .done = on_read,
        .arg = reading,
    };
    /* NULL: the call has already finished, and everything was freed with the answer. */
    struct tool_call *call = call_start(client->options.toolbox, tool, arguments, &options);
    if (call != NULL) {
        reading->call = call;
        request_await(r, reading, cancel_reading);
    }
    return true;
}
