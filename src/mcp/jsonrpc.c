/*
 * Responsible for the envelope of JSON-RPC 2.0; what methods mean is for methods.c.
 */
#include "mcp/jsonrpc.h"

#include <string.h>

#include "base/utf8.h"
#include "mcp/json_write.h"

#define MOST_QUOTED 100

struct jsonrpc_slice jsonrpc_id(const struct json_text *text, const struct json_text_message *tokens)
{
    const struct json_token *id = &tokens->id;
    if (id->kind != JSON_TOKEN_STRING && id->kind != JSON_TOKEN_INTEGER)
        return (struct jsonrpc_slice){NULL, 0};
    return (struct jsonrpc_slice){json_text_token(text, id), id->len};
}

static struct jsonrpc_message refused(struct jsonrpc_slice id, enum jsonrpc_code code, const char *reason)
{
    return (struct jsonrpc_message){.kind = JSONRPC_REFUSED, .id = id, .code = code, .reason = reason};
}

static bool is_version_2(const json_t *version)
{
    return json_is_string(version) && json_string_length(version) == 3 &&
           memcmp(json_string_value(version), "2.0", 3) == 0;
}

struct jsonrpc_message jsonrpc_classify(const json_t *object, const struct json_text *text,
                                        const struct json_text_message *tokens)
{
    const json_t *method = json_object_get(object, "method"), *params = json_object_get(object, "params");
    bool has_id = tokens->id.kind != JSON_TOKEN_ABSENT;
    struct jsonrpc_message m = {.id = jsonrpc_id(text, tokens)};
    if (method == NULL &&
        (json_object_get(object, "result") != NULL || json_object_get(object, "error") != NULL)) {
        m.kind = JSONRPC_RESPONSE;
        return m;
    }
    if (json_is_string(method))
        m.method = (struct jsonrpc_slice){json_string_value(method), json_string_length(method)};
    if (json_is_object(params))
        m.params = params;
    if (m.method.bytes != NULL && !has_id) {
        m.kind = JSONRPC_NOTIFICATION;
        return m;
    }
    if (has_id && m.id.bytes == NULL)
        return refused(m.id, JSONRPC_INVALID_REQUEST, "id must be a string or an integer");
    if (!is_version_2(json_object_get(object, "jsonrpc")))
        return refused(m.id, JSONRPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    if (m.method.bytes == NULL)
        return refused(m.id, JSONRPC_INVALID_REQUEST,
                       method != NULL ? "method must be a string"
                                      : "the message has no method, result or error");
    if (params != NULL && m.params == NULL)
        return refused(m.id, JSONRPC_INVALID_PARAMS, "params must be an object");
    m.kind = JSONRPC_REQUEST;
    return m;
}

void jsonrpc_begin_result(struct strbuf *out, struct jsonrpc_slice id)
{
    strbuf_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    strbuf_add(out, id.bytes, id.len);
    strbuf_adds(out, ",\"result\":{");
}

void jsonrpc_end_result(struct strbuf *out)
{
    strbuf_adds(out, "}}");
}

void jsonrpc_begin_notification(struct strbuf *out, const char *method)
{
    strbuf_adds(out, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    strbuf_adds(out, method);
    strbuf_adds(out, "\",\"params\":{");
}

void jsonrpc_end_notification(struct strbuf *out)
{
    strbuf_adds(out, "}}");
}

void jsonrpc_add_error(struct strbuf *out, struct jsonrpc_slice id, enum jsonrpc_code code,
                       const char *message, const char *data)
{
    strbuf_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id.bytes != NULL)
        strbuf_add(out, id.bytes, id.len);
    else
        strbuf_adds(out, "null");
    strbuf_addf(out, ",\"error\":{\"code\":%d,\"message\":", (int)code);
    json_write_string(out, message, strlen(message));
    if (data != NULL) {
        strbuf_adds(out, ",\"data\":");
        strbuf_adds(out, data);
    }
    strbuf_adds(out, "}}");
}

int jsonrpc_quotable(struct jsonrpc_slice s)
{
    return (int)(s.len > MOST_QUOTED ? utf8_floor(s.bytes, s.len, MOST_QUOTED) : s.len);
}
