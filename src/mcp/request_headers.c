/*
 * Responsible for comparing a request with its headers. Values that are not plain text are sent in base64,
 * which is read strictly: each value has exactly one spelling.
 */
#include "mcp/request_headers.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "calls/arguments.h"
#include "calls/tool.h"
#include "mcp/method.h"
#include "mcp/revisions.h"
#include "mcp/transport.h"
#include "tools/table.h"

#define MARK "=?base64?"
#define MARK_END "?="

bool request_headers_are_modern(const struct transport_headers *headers)
{
    if (headers == NULL || headers->version == NULL)
        return false;
    const struct revision *revision = revisions_find(headers->version, strlen(headers->version));
    return revision == NULL || revision->is_modern;
}

const char *request_headers_refuse_version(const struct transport_headers *headers, const json_t *meta,
                                           struct jsonrpc_slice method)
{
    const json_t *version = json_object_get(meta, META_VERSION);
    if (headers == NULL)
        return NULL;
    if (headers->is_ambiguous)
        return "MCP-Protocol-Version, Mcp-Method, Mcp-Name and Mcp-Param-Session must not be repeated";
    if (version == NULL && method.len == strlen("initialize") &&
        memcmp(method.bytes, "initialize", method.len) == 0)
        return "MCP-Protocol-Version names a revision that has no initialize";
    if (!json_is_string(version))
        return NULL;
    if (headers->version == NULL)
        return "MCP-Protocol-Version is missing";
    if (strlen(headers->version) != json_string_length(version) ||
        memcmp(headers->version, json_string_value(version), json_string_length(version)) != 0)
        return "MCP-Protocol-Version differs from protocolVersion in _meta";
    return NULL;
}

/* The argument that names the tool's session. NULL: the tool has none, or it was not given. */
static const json_t *session_meant(const json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    const struct tool *tool = name != NULL ? registry_find(&tool_table, name) : NULL;
    for (const struct tool_argument *a = tool != NULL ? tool->arguments : NULL; a != NULL && a->name != NULL;
         a++) {
        if (a->names_session)
            return json_object_get(json_object_get(params, "arguments"), a->name);
    }
    return tool != NULL ? NULL : json_object_get(json_object_get(params, "arguments"), "session");
}

/* The tools' schemas request this header by "x-mcp-header" at the argument. */
static const char *refuse_session(const struct transport_headers *headers, const json_t *session)
{
    if (!json_is_string(session) || (headers->session == NULL && arguments_is_nothing(session)))
        return headers->session != NULL && (session == NULL || json_is_null(session))
                   ? "Mcp-Param-Session is present, but the argument session is missing"
                   : NULL;
    if (headers->session == NULL)
        return "Mcp-Param-Session is missing";
    if (!request_header_says(headers->session, json_string_value(session), json_string_length(session)))
        return "Mcp-Param-Session differs from the argument session";
    return NULL;
}

const char *request_headers_refuse_request(const struct transport_headers *headers, struct jsonrpc_slice name,
                                           const struct method *method, const json_t *params)
{
    if (headers == NULL)
        return NULL;
    if (headers->method == NULL)
        return "Mcp-Method is missing";
    if (strlen(headers->method) != name.len || memcmp(headers->method, name.bytes, name.len) != 0)
        return "Mcp-Method differs from the method";
    if (method != NULL && strcmp(method->name, "tools/call") == 0) {
        const char *reason = refuse_session(headers, session_meant(params));
        if (reason != NULL)
            return reason;
    }
    if (method == NULL || method->named_by == NULL)
        return NULL;
    const json_t *named = json_object_get(params, method->named_by);
    if (!json_is_string(named))
        return NULL;
    if (headers->name == NULL)
        return "Mcp-Name is missing";
    if (!request_header_says(headers->name, json_string_value(named), json_string_length(named)))
        return "Mcp-Name differs from what the request names";
    return NULL;
}

static bool base64_says(const char *text, size_t text_len, const char *value, size_t len)
{
    struct strbuf decoded = {0};
    size_t digits = text_len;
    while (digits > 0 && digits + 2 > text_len && text[digits - 1] == '=')
        digits--;
    bool is_same = text_len % 4 == 0 && text_add_base64(&decoded, text, digits, "+/") && decoded.len == len &&
                   (len == 0 || memcmp(decoded.bytes, value, len) == 0);
    strbuf_fini(&decoded);
    return is_same;
}

bool request_header_says(const char *header, const char *value, size_t len)
{
    size_t header_len = strlen(header), mark = strlen(MARK), end = strlen(MARK_END);
    if (header_len >= mark + end && memcmp(header, MARK, mark) == 0 &&
        memcmp(header + header_len - end, MARK_END, end) == 0)
        return base64_says(header + mark, header_len - mark - end, value, len);
    return header_len == len && memcmp(header, value, len) == 0;
}
