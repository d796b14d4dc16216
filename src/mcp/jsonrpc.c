/*
 * Responsible for the envelope of JSON-RPC 2.0; what methods mean is for methods.c.
 */
#include "mcp/jsonrpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/json_write.h"

#define MOST_QUOTED 100

char *jsonrpc_token(const json_t *value)
{
    return json_is_string(value) || json_is_integer(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
}

struct jsonrpc_slice jsonrpc_slice_of(const char *text)
{
    return (struct jsonrpc_slice){text, text == NULL ? 0 : strlen(text)};
}

static void refuse(struct jsonrpc_message *m, enum jsonrpc_code code, const char *reason)
{
    m->kind = JSONRPC_REFUSED;
    m->code = code;
    m->reason = reason;
}

static bool is_version_2(const json_t *version)
{
    return json_is_string(version) && json_string_length(version) == 3 &&
           memcmp(json_string_value(version), "2.0", 3) == 0;
}

struct jsonrpc_message jsonrpc_classify(const json_t *object)
{
    const json_t *id = json_object_get(object, "id"), *method = json_object_get(object, "method");
    const json_t *given = json_object_get(object, "params"), *params = json_is_null(given) ? NULL : given;
    struct jsonrpc_message m = {.kind = JSONRPC_REQUEST, .id_text = jsonrpc_token(id)};
    m.id = jsonrpc_slice_of(m.id_text);
    if (json_is_string(method))
        m.method = (struct jsonrpc_slice){json_string_value(method), json_string_length(method)};
    if (json_is_object(params))
        m.params = params;
    if (method == NULL &&
        (json_object_get(object, "result") != NULL || json_object_get(object, "error") != NULL))
        m.kind = JSONRPC_RESPONSE;
    else if (m.method.bytes != NULL && id == NULL)
        m.kind = JSONRPC_NOTIFICATION;
    else if (id != NULL && m.id_text == NULL)
        refuse(&m, JSONRPC_INVALID_REQUEST, "id must be a string or an integer");
    else if (!is_version_2(json_object_get(object, "jsonrpc")))
        refuse(&m, JSONRPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    else if (m.method.bytes == NULL)
        refuse(&m, JSONRPC_INVALID_REQUEST,
               method != NULL ? "method must be a string" : "the message has no method, result or error");
    else if (params != NULL && m.params == NULL)
        refuse(&m, JSONRPC_INVALID_PARAMS, "params must be an object");
    return m;
}

void jsonrpc_message_fini(struct jsonrpc_message *m)
{
    free(m->id_text);
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
