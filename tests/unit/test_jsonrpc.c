/*
 * What kind of message an object is, and what our envelopes look like.
 */
#include <stdio.h>
#include <string.h>

#include "mcp/jsonrpc.h"
#include "strbuf_test.h"

static const struct {
    const char *json;
    enum jsonrpc_kind kind;
    const char *id; /* NULL: null */
    int code;       /* JSONRPC_REFUSED */
} rows[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", JSONRPC_REQUEST, "1", 0},
    {"{\"params\":{},\"method\":\"ping\",\"id\":\"a\",\"jsonrpc\":\"2.0\",\"extra\":[]}", JSONRPC_REQUEST,
     "\"a\"", 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"method\":\"\"}", JSONRPC_REQUEST,
     "-9223372036854775808", 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0041\\u0000\\n\",\"method\":\"\"}", JSONRPC_REQUEST, "\"A\\u0000\\n\"",
     0},
    {"{\"id\":1,\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\"}", JSONRPC_REQUEST, "2", 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":{}}", JSONRPC_REQUEST, "1", 0},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", JSONRPC_NOTIFICATION, NULL, 0},
    {"{\"method\":\"x\"}", JSONRPC_NOTIFICATION, NULL, 0},
    {"{\"jsonrpc\":\"1.0\",\"method\":\"x\",\"params\":[]}", JSONRPC_NOTIFICATION, NULL, 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", JSONRPC_RESPONSE, "1", 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", JSONRPC_RESPONSE, NULL, 0},
    {"{\"result\":1}", JSONRPC_RESPONSE, NULL, 0},
    {"{}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":\"2.0\",\"method\":5}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", JSONRPC_REFUSED, "1", -32600},
    {"{\"id\":1,\"method\":\"x\"}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":\"2.00\",\"id\":1,\"method\":\"x\"}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":\"1.0\",\"id\":\"q\",\"method\":\"x\"}", JSONRPC_REFUSED, "\"q\"", -32600},
    {"{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"x\"}", JSONRPC_REFUSED, "1", -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", JSONRPC_REFUSED, NULL, -32600},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", JSONRPC_REFUSED, "1", -32602},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":\"p\"}", JSONRPC_REFUSED, "1", -32602},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}", JSONRPC_REQUEST, "1", 0},
};

TEST(messages_are_distinguished_by_their_members)
{
    struct jsonrpc_message m;
    json_t *object;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        object = json_loads(rows[i].json, JSON_ALLOW_NUL, NULL);
        assert_non_null(object);
        m = jsonrpc_classify(object);
        if (m.kind != rows[i].kind || (m.kind == JSONRPC_REFUSED && (int)m.code != rows[i].code))
            fail_msg("%s: kind %d, code %d", rows[i].json, (int)m.kind, (int)m.code);
        if (!rows[i].id)
            assert_null(m.id.bytes);
        else if (m.id.len != strlen(rows[i].id) || memcmp(m.id.bytes, rows[i].id, m.id.len) != 0)
            fail_msg("%s: id %.*s", rows[i].json, (int)m.id.len, m.id.bytes);
        jsonrpc_message_fini(&m);
        json_decref(object);
    }
}

STRBUF_TEST(out, envelopes_hold_what_they_are_given)
{
    struct jsonrpc_slice id = {"\"i\"", 3}, none = {NULL, 0};
    jsonrpc_begin_result(out, id);
    strbuf_adds(out, "\"a\":1");
    jsonrpc_end_result(out);
    assert_string_equal(out->bytes, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{\"a\":1}}");
    strbuf_clear(out);
    jsonrpc_begin_notification(out, "notifications/progress");
    jsonrpc_end_notification(out);
    assert_string_equal(out->bytes,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}");
    strbuf_clear(out);
    jsonrpc_add_error(out, none, JSONRPC_PARSE_ERROR, "x \"y\"\n", NULL);
    assert_string_equal(
        out->bytes,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x \\\"y\\\"\\n\"}}");
    strbuf_clear(out);
    jsonrpc_add_error(out, id, JSONRPC_UNSUPPORTED_VERSION, "v", "{\"q\":[]}");
    assert_string_equal(out->bytes,
                        "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"error\":{\"code\":-32022,\"message\":"
                        "\"v\",\"data\":{\"q\":[]}}}");
}

TEST(a_long_name_is_cut_between_characters)
{
    char name[201];
    for (size_t i = 0; i < 200; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    assert_int_equal(jsonrpc_quotable((struct jsonrpc_slice){name, 200}), 100);
    assert_int_equal(jsonrpc_quotable((struct jsonrpc_slice){name + 1, 199}), 99);
    assert_int_equal(jsonrpc_quotable((struct jsonrpc_slice){name, 7}), 7);
}
