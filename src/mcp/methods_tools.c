/*
 * Responsible for tools/list and tools/call: between the protocol and the registry, which knows the tools.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/listing.h"
#include "calls/toolbox.h"
#include "calls/user_tools.h"
#include "mcp/calls.h"
#include "mcp/client.h"
#include "mcp/extension.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/tool_answer.h"
#include "tools/complete_names.h"
#include "tools/table.h"

/* Only clients of 2026-07-28 over HTTP repeat arguments in headers; other listings leave x-mcp-header out. */
static char *listing_text(const struct client *client, json_t *tools)
{
    json_t *tool, *argument;
    const char *name;
    size_t i;
    json_array_foreach(tools, i, tool) {
        if (client->options.is_stateless)
            break;
        json_object_foreach(json_object_get(json_object_get(tool, "inputSchema"), "properties"), name,
                            argument)
            json_object_del(argument, "x-mcp-header");
    }
    return json_dumps(tools, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static void remove_unoffered(const struct client *client, json_t *listed)
{
    for (size_t i = json_array_size(listed); i-- > 0;) {
        const json_t *name = json_object_get(json_array_get(listed, i), "name");
        if (!registry_offers(client->options.toolbox, registry_find(&tool_table, json_string_value(name))))
            json_array_remove(listed, i);
    }
}

static bool answer_list(struct request *r)
{
    struct client *client = request_client(r);
    if (client->tools_text == NULL) {
        struct err err;
        json_t *listed = listing_of(&tool_table, client->options.listing, &err);
        CHECK(listed != NULL);
        remove_unoffered(client, listed);
        client->tools_text = listing_text(client, listed);
        CHECK(client->tools_text != NULL);
        json_decref(listed);
    }
    json_t *tools = json_array();
    if (registry_offers(client->options.toolbox, &tool_user))
        user_tools_list(client->options.toolbox, client->options.default_session, tools);
    char *listing = json_array_size(tools) == 0 ? NULL : listing_text(client, tools);
    json_decref(tools);
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"tools\":");
    if (listing != NULL && strcmp(client->tools_text, "[]") != 0) {
        strbuf_add(out, client->tools_text, strlen(client->tools_text) - 1);
        strbuf_addf(out, ",%s", listing + 1);
    } else {
        strbuf_adds(out, listing != NULL ? listing : client->tools_text);
    }
    if (client->options.extension != NULL) {
        out->len--; /* the bracket */
        extension_add_items(client->options.extension, out, "tools");
        strbuf_addc(out, ']');
    }
    free(listing);
    return request_finish(r);
}

/* Whatever the result: the session has reported which tools it has, or has none. */
static void on_session_there(void *arg, const struct tool_result *result)
{
    (void)result;
    answer_list(arg);
}

/* Most clients request the list once, before their first call. So the list waits for a session that may
 * have its own tools from the start; a request to the session starts it. */
bool methods_tools_list(struct request *r, const json_t *params)
{
    struct client *client = request_client(r);
    if (!request_check_cursor(r, params))
        return false;
    if (!user_tools_are_to_come(client->options.toolbox, client->options.default_session))
        return answer_list(r);
    client_shake_hands(client);
    calls_use(r, &tool_complete_names, json_pack("{s:s,s:s}", "type", "packages", "prefix", "cl-mcp"),
              on_session_there);
    return true;
}

static void refuse_tool(struct request *r, const json_t *name)
{
    const struct toolbox *toolbox = request_client(r)->options.toolbox;
    struct jsonrpc_slice asked = {json_string_value(name), json_string_length(name)};
    struct strbuf nearest = {0};
    if (!user_tools_nearest(toolbox, json_string_value(name), &nearest) &&
        registry_nearest(&tool_table, json_string_value(name)) != NULL)
        strbuf_adds(&nearest, registry_nearest(&tool_table, json_string_value(name)));
    if (nearest.len > 0)
        request_fail(r, JSONRPC_INVALID_PARAMS, "Unknown tool: %.*s. Did you mean %s?",
                     jsonrpc_quotable(asked), asked.bytes, strbuf_string(&nearest));
    else
        request_fail(r, JSONRPC_INVALID_PARAMS, "Unknown tool: %.*s", jsonrpc_quotable(asked), asked.bytes);
    strbuf_fini(&nearest);
}

/* Find the tool of that name, the server's or a session's own, and check its arguments. False: the request
 * was answered. */
static bool find_tool(struct request *r, const json_t *name, const json_t *given, const struct tool **tool,
                      json_t **arguments)
{
    const struct client *client = request_client(r);
    const char *asked = json_string_value(name);
    bool is_text = strlen(asked) == json_string_length(name), is_user_tool = false;
    struct err err;
    *tool = is_text ? registry_find(&tool_table, asked) : NULL;
    if (*tool != NULL) {
        *arguments = arguments_check(*tool, registry_former(&tool_table, asked), given, &err);
    } else if (is_text) {
        *arguments = user_tools_prepare(client->options.toolbox, client->options.default_session, asked,
                                        given, &is_user_tool, &err);
        *tool = is_user_tool ? &tool_user : NULL;
    }
    if (*tool == NULL) {
        refuse_tool(r, name);
        return false;
    }
    if (*arguments != NULL)
        return true;
    if (request_revision(r)->argument_errors_are_results)
        tool_answer_error(r, err.message);
    else
        request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: %s", err.message);
    return false;
}

bool methods_tools_call(struct request *r, const json_t *params)
{
    struct client *client = request_client(r);
    const json_t *name = json_object_get(params, "name"), *given = json_object_get(params, "arguments");
    if (!client->options.is_stateless && client->author.name[0] == '\0')
        client->author = client_author(client, params); /* there was no initialize */
    client_shake_hands(client);
    if (client->is_ending)
        return request_fail(r, JSONRPC_INTERNAL_ERROR,
                            "The server is shutting down; the call was not performed");
    if (!json_is_string(name))
        return request_fail(r, JSONRPC_INVALID_PARAMS,
                            "Invalid params: name must be a string, the name of a tool");
    if (given != NULL && !json_is_object(given) && !json_is_null(given))
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: arguments must be an object");
    if (calls_resume(r, params))
        return true;
    const struct tool *tool;
    json_t *arguments;
    if (!find_tool(r, name, json_is_object(given) ? given : NULL, &tool, &arguments))
        return false;
    if (!registry_offers(client->options.toolbox, tool)) {
        json_decref(arguments);
        return tool_answer_error(r, "Not performed: this server only looks at the Lisp that it has joined "
                                    "(--attach-read-only), and this tool can change something there.");
    }
    bool wants_data = json_is_true(json_object_get(json_object_get(params, "_meta"), "cl-mcp-server/data"));
    struct tool_call_options options = {
        .default_session = client->options.default_session,
        .client = client->number,
        .author = client_author(client, params),
        .wants_structured =
            (client->options.wants_structured || wants_data) && request_revision(r)->has_structured,
        .wants_data = wants_data,
    };
    calls_start(r, tool, arguments, params, &options);
    return true;
}
