/*
 * Responsible for the table of methods, and for the methods about the connection itself. To add a method:
 * one row and one function, which answers the request it is given.
 */
#include "mcp/methods.h"

#include <string.h>

#include "base/json_write.h"
#include "base/similar.h"
#include "calls/listing.h"
#include "calls/toolbox.h"
#include "lisp/confinement.h"
#include "mcp/client.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/server_info.h"
#include "mcp/server_log.h"
#include "mcp/tasks.h"
#include "tools/table.h"

extern const char text_instructions[], text_instructions_joined[]; /* texts/instructions*.txt */

static void add_capabilities(const struct client *client, bool is_modern, struct strbuf *out)
{
    strbuf_adds(out,
                "{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,\"listChanged\":true},"
                "\"prompts\":{},\"completions\":{}");
    if (is_modern)
        strbuf_adds(out, ",\"extensions\":{\"" TASKS_EXTENSION "\":{}}");
    strbuf_adds(out, client->options.shows_log ? ",\"logging\":{}}" : "}");
}

/* Those of the world that the default session is in. */
static void add_instructions(const struct client *client, struct strbuf *out)
{
    struct strbuf text = {0};
    const struct toolbox *toolbox = client->options.toolbox;
    bool is_joined = toolbox != NULL && toolbox->attach != NULL;
    const char *own = is_joined ? text_instructions_joined : text_instructions;
    listing_add_text(&tool_table, client->options.listing, own, strlen(own), &text);
    if (toolbox != NULL && confinements_own(toolbox->confinements) != NULL)
        strbuf_addf(&text, "\nSandbox: %s", confinement_description(confinements_own(toolbox->confinements)));
    strbuf_adds(out, "\"instructions\":");
    json_write_string(out, text.bytes, text.len);
    strbuf_fini(&text);
}

/* Where a second one is allowed, it is a fresh handshake. Requests in progress continue. */
static bool initialize(struct request *r, const json_t *params)
{
    static const char *const objects[] = {"capabilities", "clientInfo"};
    const json_t *version = json_object_get(params, "protocolVersion");
    struct client *client = request_client(r);
    if (client->negotiated != NULL && client->options.initializes_once)
        return request_fail(r, JSONRPC_INVALID_REQUEST,
                            "Invalid Request: this session is initialized already");
    if (!json_is_string(version))
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: protocolVersion must be a string");
    /* The schema requires them, but the server does not need them, and hand-written clients omit them. */
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const json_t *member = json_object_get(params, objects[i]);
        if (member != NULL && !json_is_object(member))
            return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: %s must be an object",
                                objects[i]);
    }
    const struct revision *revision =
        revisions_negotiate(json_string_value(version), json_string_length(version));
    client->negotiated = revision;
    json_decref(client->capabilities);
    client->capabilities = json_incref(json_object_get(params, "capabilities"));
    client->author = client_name(json_object_get(params, "clientInfo"));
    struct strbuf *out = request_result(r);
    strbuf_addf(out, "\"protocolVersion\":\"%s\",\"capabilities\":", revision->name);
    add_capabilities(request_client(r), false, out);
    strbuf_adds(out, ",\"serverInfo\":" SERVER_INFO ",");
    add_instructions(client, out);
    return request_finish(r);
}

static bool ping(struct request *r, const json_t *params)
{
    return request_accept(r);
}

/* Does not commit the connection: a client that finds no common revision may still send initialize. */
static bool server_discover(struct request *r, const json_t *params)
{
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"supportedVersions\":");
    revisions_add_names(out);
    strbuf_adds(out, ",\"capabilities\":");
    add_capabilities(request_client(r), true, out);
    strbuf_addc(out, ',');
    add_instructions(request_client(r), out);
    return request_finish(r);
}

enum { HOUR_MS = 3600000 };

/* clang-format off */
static const struct method methods[] = {
    {"initialize", initialize, .is_legacy = true, .precedes_handshake = true, .is_alone = true},
    {"ping", ping, .is_legacy = true, .precedes_handshake = true},
    /* Without an envelope, it could be answered in no era, so it does not precede the handshake. */
    {"server/discover", server_discover, .is_modern = true, .is_cached = true, .ttl_ms = HOUR_MS, .is_public = true},
    /* Sessions may define tools at any time. */
    {"tools/list", methods_tools_list, .is_legacy = true, .is_modern = true, .is_cached = true},
    {"tools/call", methods_tools_call, .is_legacy = true, .is_modern = true, .named_by = "name"},
    {"tasks/get", methods_tasks_get, .is_modern = true, .named_by = "taskId"},
    {"tasks/update", methods_tasks_update, .is_modern = true, .named_by = "taskId"},
    {"tasks/cancel", methods_tasks_cancel, .is_modern = true, .named_by = "taskId"},
    {"resources/list", methods_resources_list, .is_legacy = true, .is_modern = true, .is_cached = true},
    {"resources/templates/list", methods_resources_templates_list, .is_legacy = true, .is_modern = true,
     .is_cached = true, .ttl_ms = HOUR_MS, .is_public = true},
    {"resources/read", methods_resources_read, .is_legacy = true, .is_modern = true, .named_by = "uri", .is_cached = true},
    {"resources/subscribe", methods_resources_subscribe, .is_legacy = true},
    {"resources/unsubscribe", methods_resources_unsubscribe, .is_legacy = true},
    {"subscriptions/listen", methods_subscriptions_listen, .is_modern = true},
    {"prompts/list", methods_prompts_list, .is_legacy = true, .is_modern = true,
     .is_cached = true, .ttl_ms = HOUR_MS, .is_public = true},
    {"prompts/get", methods_prompts_get, .is_legacy = true, .is_modern = true, .named_by = "name"},
    {"completion/complete", methods_completion_complete, .is_legacy = true, .is_modern = true},
    {"logging/setLevel", methods_logging_set_level, .is_legacy = true},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_called(const char *row, const char *name, size_t len)
{
    return strlen(row) == len && memcmp(row, name, len) == 0;
}

const struct method *method_find(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (is_called(methods[i].name, name, len))
            return &methods[i];
    }
    return NULL;
}

const char *method_nearest(const char *name, bool is_modern)
{
    struct similar search;
    similar_init(&search, name);
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (is_modern ? methods[i].is_modern : methods[i].is_legacy)
            similar_offer(&search, methods[i].name);
    }
    return search.best;
}
