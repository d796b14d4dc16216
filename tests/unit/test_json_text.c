/*
 * The scanner of JSON texts: what it takes, what it refuses and where, the tokens it finds, what it changes
 * in place.
 */
#include <stdio.h>
#include <string.h>

#define OWN_MAIN
#include "../cases.h"
#include <jansson.h>

#include "../assert_between.h"
#include "base/strbuf.h"
#include "guarded.h"
#include "mcp/json_text.h"
#include "mcp/json_write.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static struct json_text text;

/* Scan a copy that ends where memory ends. */
static bool scan(const char *bytes, size_t len, struct err *err)
{
    struct guarded g = guarded_copy(bytes, len);
    bool is_good = json_text_scan(&text, g.bytes, len, err);

    guarded_free(&g);
    return is_good;
}

static const char *const accepted[] = {
    "{}",
    "[]",
    " \t\r\n{ } \n",
    "0",
    "-0",
    "\"\"",
    "true",
    "null",
    "[1,-2,3.5,1e9,1E+9,1.25e-3,0.0,-0.1e0]",
    "{\"a\":{\"b\":[{\"c\":[]}]}}",
    "{\"a\":1,\"a\":2}",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uD83D\\uDE00\\ud800\"]",
    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
    "[[],{},[{}],\"x\",true,false,null]",
    "{\"id\":123456789012345678901234567890}",
    "1e99999",
    "\"\x7f\"",
};

static const struct {
    const char *bytes;
    size_t len;
    size_t position;
} rejected[] = {
    {BYTES(""), 0},          {BYTES("  "), 2},
    {BYTES("{"), 1},         {BYTES("}"), 0},
    {BYTES("[1,]"), 3},      {BYTES("[,1]"), 1},
    {BYTES("[1 2]"), 3},     {BYTES("[1}"), 2},
    {BYTES("{\"a\":1]"), 6}, {BYTES("{\"a\"}"), 4},
    {BYTES("{\"a\":}"), 5},  {BYTES("{\"a\":1,}"), 7},
    {BYTES("{a:1}"), 1},     {BYTES("{1:1}"), 1},
    {BYTES("{\"a\" 1}"), 5}, {BYTES("{} {}"), 3},
    {BYTES("{}x"), 2},       {BYTES("{}\0"), 2},
    {BYTES("\0"), 0},        {BYTES("01"), 1},
    {BYTES("+1"), 0},        {BYTES("-"), 1},
    {BYTES("-a"), 1},        {BYTES("1."), 2},
    {BYTES(".5"), 0},        {BYTES("1.e5"), 2},
    {BYTES("1e"), 2},        {BYTES("1e+"), 3},
    {BYTES("0x10"), 1},      {BYTES("NaN"), 0},
    {BYTES("tru"), 3},       {BYTES("trux"), 3},
    {BYTES("True"), 0},      {BYTES("nulll"), 4},
    {BYTES("\"abc"), 4},     {BYTES("\"a\nb\""), 2},
    {BYTES("\"a\0b\""), 2},  {BYTES("\"\\x\""), 2},
    {BYTES("\"\\\0\""), 2},  {BYTES("\"\\"), 2},
    {BYTES("\"\\u12\""), 5}, {BYTES("\"\\u12g4\""), 5},
    {BYTES("\"\\u"), 3},     {BYTES("'a'"), 0},
    {BYTES("[1]//"), 3},     {BYTES("\xef\xbb\xbf{}"), 0},
    {BYTES("\"\xff\""), 1},  {BYTES("\"\xed\xa0\x80\""), 1},
    {BYTES("\"\xc3\""), 1},  {BYTES("{\"id\":1,\"x\":\"\xc0\x80\"}"), 13},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(scan_accepts_json)
{
    struct err err;

    for (size_t i = 0; i < COUNT(accepted); i++) {
        if (!scan(accepted[i], strlen(accepted[i]), &err))
            fail_msg("%s: %s", accepted[i], err.message);
    }
}

TEST(scan_refuses_everything_else_and_reports_the_place)
{
    struct err err;

    for (size_t i = 0; i < COUNT(rejected); i++) {
        if (scan(rejected[i].bytes, rejected[i].len, &err))
            fail_msg("row %zu (%s) was taken", i, rejected[i].bytes);
        if (err.position != rejected[i].position)
            fail_msg("row %zu (%s): at %zu: %s", i, rejected[i].bytes, err.position, err.message);
        assert_int_equal(err.code, ERR_SYNTAX);
    }
}

TEST(scan_reads_no_byte_behind_any_truncation)
{
    static const char whole[] =
        "{\"jsonrpc\":\"2.0\",\"id\":-12,\"method\":\"\\u0041\\ud800\\udc00\\n\",\"params\":{\"_meta\":"
        "{\"progressToken\":\"\xe2\x82\xac\"},\"x\":[true,false,null,1.5e-7]}}";
    size_t len;
    struct err err;

    for (len = 0; len < sizeof whole - 1; len++)
        assert_false(scan(whole, len, &err));
    assert_true(scan(whole, len, &err));
}

/* Where we and jansson disagree, jansson must be the stricter one, and only in the ways that connection.c
 * knows. */
TEST(scan_agrees_with_jansson_on_every_changed_byte)
{
    static const char whole[] =
        "{\"id\":7,\"a\":[1.5,\"\\u00e9\\\\x\",{\"b\":null}],\"params\":{\"requestId\":\"q\"}}";
    char copy[sizeof whole];
    size_t at, len = sizeof whole - 1;
    bool is_good;
    json_error_t error;
    json_t *tree;
    struct err err;

    for (at = 0; at < len; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(copy, whole, sizeof whole);
            copy[at] = (char)byte;
            is_good = json_text_scan(&text, copy, len, &err);
            tree = json_loadb(copy, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
            if (is_good != (tree != NULL))
                fail_msg("byte %zu = 0x%02x: we say %d, jansson: %s", at, (unsigned)byte, is_good,
                         error.text);
            json_decref(tree);
        }
    }
}

static void expect_token(const struct json_token *token, enum json_token_kind kind, const char *written)
{
    assert_int_equal(token->kind, kind);
    if (written) {
        assert_int_equal(token->len, strlen(written));
        assert_memory_equal(json_text_token(&text, token), written, token->len);
    }
}

static void expect_id(const char *json, enum json_token_kind kind, const char *written)
{
    struct err err;

    if (!scan(json, strlen(json), &err))
        fail_msg("%s: %s", json, err.message);
    assert_int_equal(text.count, 1);
    assert_int_equal(text.messages[0].len, strlen(json));
    expect_token(&text.messages[0].id, kind, written);
}

TEST(scan_finds_the_id_as_it_was_written)
{
    expect_id("{\"id\":1}", JSON_TOKEN_INTEGER, "1");
    expect_id("{\"id\":-0}", JSON_TOKEN_INTEGER, "-0");
    expect_id("{\"id\": 123456789012345678901234567890 }", JSON_TOKEN_INTEGER,
              "123456789012345678901234567890");
    expect_id("{\"id\":\"a\\u0062\\n\\ud800\"}", JSON_TOKEN_STRING, "\"a\\u0062\\n\\ud800\"");
    expect_id("{\"id\":\"\"}", JSON_TOKEN_STRING, "\"\"");
    expect_id("{\"\\u0069d\":5}", JSON_TOKEN_INTEGER, "5");
    expect_id("{\"\\u0069\\u0064\":5}", JSON_TOKEN_INTEGER, "5");
    expect_id("{\"method\":\"x\",\"params\":{\"id\":1},\"id\":2}", JSON_TOKEN_INTEGER, "2");
    expect_id("{\"id\":1.0}", JSON_TOKEN_OTHER, NULL);
    expect_id("{\"id\":1e3}", JSON_TOKEN_OTHER, NULL);
    expect_id("{\"id\":null}", JSON_TOKEN_NULL, NULL);
    expect_id("{\"id\":true}", JSON_TOKEN_OTHER, NULL);
    expect_id("{\"id\":[1]}", JSON_TOKEN_OTHER, NULL);
    expect_id("{\"id\":{\"id\":1}}", JSON_TOKEN_OTHER, NULL);
    expect_id("{}", JSON_TOKEN_ABSENT, NULL);
    expect_id("{\"i\":1,\"idd\":2,\"ID\":3,\"\":4}", JSON_TOKEN_ABSENT, NULL);
}

TEST(scan_uses_the_last_of_duplicate_members)
{
    static const char json[] =
        "{\"id\":1,\"params\":{\"requestId\":1,\"_meta\":{\"progressToken\":2}},\"id\":\"x\","
        "\"params\":{\"_meta\":{\"progressToken\":3,\"progressToken\":4}}}";
    static const char scalar[] =
        "{\"params\":{\"requestId\":1,\"_meta\":{\"progressToken\":2}},\"params\":[]}";
    static const char meta[] =
        "{\"params\":{\"_meta\":{\"progressToken\":2},\"_meta\":{\"x\":{\"progressToken\":3}}}}";
    struct err err;

    assert_true(scan(json, sizeof json - 1, &err));
    expect_token(&text.messages[0].id, JSON_TOKEN_STRING, "\"x\"");
    expect_token(&text.messages[0].request_id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_INTEGER, "4");
    assert_true(scan(scalar, sizeof scalar - 1, &err));
    expect_token(&text.messages[0].request_id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_ABSENT, NULL);
    assert_true(scan(meta, sizeof meta - 1, &err));
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_ABSENT, NULL);
}

TEST(scan_finds_tokens_only_where_they_belong)
{
    static const char wrong[] =
        "{\"result\":{\"requestId\":1,\"_meta\":{\"progressToken\":2}},\"params\":{\"arguments\":"
        "{\"_meta\":{\"progressToken\":3},\"requestId\":4,\"id\":5}}}";
    static const char after[] =
        "{\"params\":{\"_meta\":{},\"x\":{\"progressToken\":3}},\"result\":{\"requestId\":1}}";
    static const char list[] = "{\"params\":[{\"requestId\":1,\"_meta\":{\"progressToken\":2}}]}";
    struct err err;

    assert_true(scan(wrong, sizeof wrong - 1, &err));
    expect_token(&text.messages[0].id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].request_id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_ABSENT, NULL);
    assert_true(scan(after, sizeof after - 1, &err));
    expect_token(&text.messages[0].request_id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_ABSENT, NULL);
    assert_true(scan(list, sizeof list - 1, &err));
    expect_token(&text.messages[0].request_id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[0].progress_token, JSON_TOKEN_ABSENT, NULL);
}

TEST(scan_finds_the_ids_of_a_batch)
{
    static const char json[] =
        " [{\"id\":1,\"a\":{}}, 5,[{\"id\":2}] ,{\"params\":{\"requestId\":\"r\"},\"id\":\"z\"}, {}]";
    struct err err;

    assert_true(scan(json, sizeof json - 1, &err));
    assert_int_equal(text.root, JSON_TEXT_ARRAY);
    assert_int_equal(text.count, 5);
    expect_token(&text.messages[0].id, JSON_TOKEN_INTEGER, "1");
    assert_int_equal(text.messages[0].at, 2);
    assert_int_equal(text.messages[0].len, 15);
    assert_false(text.messages[1].is_object);
    assert_int_equal(text.messages[1].len, 1);
    assert_false(text.messages[2].is_object);
    assert_int_equal(text.messages[2].len, 10);
    expect_token(&text.messages[2].id, JSON_TOKEN_ABSENT, NULL);
    expect_token(&text.messages[3].id, JSON_TOKEN_STRING, "\"z\"");
    expect_token(&text.messages[3].request_id, JSON_TOKEN_STRING, "\"r\"");
    assert_true(text.messages[4].is_object);
    assert_int_equal(text.messages[4].len, 2);
}

TEST(scan_counts_the_messages_it_does_not_record)
{
    struct strbuf json;
    struct err err;

    strbuf_init(&json, 0);
    strbuf_addc(&json, '[');
    for (int i = 0; i < 250; i++)
        strbuf_addf(&json, "%s{\"id\":%d,\"params\":{\"_meta\":{\"progressToken\":1}}}", i ? "," : "", i);
    strbuf_addc(&json, ']');
    assert_true(scan(json.bytes, json.len, &err));
    assert_int_equal(text.count, 250);
    expect_token(&text.messages[JSON_TEXT_MAX_MESSAGES - 1].id, JSON_TOKEN_INTEGER, "99");
    strbuf_fini(&json);
}

static void expect_changed(const char *json, const char *changed)
{
    char copy[256];
    struct err err;

    assert_between(strlen(json), 0, sizeof copy - 1);
    strcpy(copy, json);
    assert_true(json_text_scan(&text, copy, strlen(json), &err));
    assert_string_equal(copy, changed);
}

TEST(scan_changes_what_jansson_would_refuse)
{
    expect_changed("{\"id\":123456789012345678901}", "{\"id\":0                    }");
    expect_changed("{\"id\":-1,\"params\":{\"requestId\":22}}", "{\"id\":0 ,\"params\":{\"requestId\":0 }}");
    expect_changed("{\"a\":-1}", "{\"a\":-1}");
    expect_changed("[\"\\ud800\"]", "[\"\\ufffd\"]");
    expect_changed("[\"\\uDC00\\ud800x\"]", "[\"\\ufffd\\ufffdx\"]");
    expect_changed("[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]");
    expect_changed("[\"\\ud83d\\ud83d\\ude00\"]", "[\"\\ufffd\\ud83d\\ude00\"]");
    expect_changed("[\"\\ud83d\\\\ude00\"]", "[\"\\ufffd\\\\ude00\"]");
    expect_changed("[\"\\\\ud800\"]", "[\"\\\\ud800\"]");
    expect_changed("[\"\\ud83d\\u0041\"]", "[\"\\ufffd\\u0041\"]");
    expect_changed("{\"\\ud800\":1}", "{\"\\ufffd\":1}");
    expect_changed("[\"\\ud7ff\\ue000\"]", "[\"\\ud7ff\\ue000\"]");
}

TEST(scan_accepts_any_depth)
{
    size_t depth = 3000000, i;
    char *json = malloc(2 * depth + 10);
    struct err err;

    assert_non_null(json);
    for (i = 0; i < depth; i++) {
        json[i] = '[';
        json[2 * depth - 1 - i] = ']';
    }
    assert_true(json_text_scan(&text, json, 2 * depth, &err));
    assert_int_equal(text.value_count, depth);
    assert_false(json_text_scan(&text, json, 2 * depth - 1, &err));
    json[depth] = '}';
    assert_false(json_text_scan(&text, json, 2 * depth, &err));
    assert_int_equal(err.position, depth);
    free(json);
}

TEST(scan_reports_line_and_column)
{
    struct err err;

    assert_false(scan(BYTES("{\n \"\xc3\xa9\": x}"), &err));
    assert_string_equal(err.message, "line 2, column 7 (byte 10): expected a value, found 'x'");
    assert_false(scan(BYTES("[1,"), &err));
    assert_string_equal(err.message, "line 1, column 4 (byte 4): expected a value, found the end");
    assert_false(scan(BYTES("[\0]"), &err));
    assert_string_equal(err.message, "line 1, column 2 (byte 2): expected a value or ], found the byte 0x00");
}

static void expect_written(const char *bytes, size_t len, const char *written)
{
    struct strbuf out;

    strbuf_init(&out, 0);
    json_write_string(&out, bytes, len);
    assert_string_equal(strbuf_string(&out), written);
    strbuf_fini(&out);
}

TEST(add_string_escapes_what_json_requires)
{
    expect_written(BYTES(""), "\"\"");
    expect_written(BYTES("plain /text/ \x7f"), "\"plain /text/ \x7f\"");
    expect_written(BYTES("a\"b\\c\n\t\r\b\f"), "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\"");
    expect_written(BYTES("\0\x01\x1f\x0b"), "\"\\u0000\\u0001\\u001f\\u000b\"");
    expect_written(BYTES("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    expect_written(BYTES("x\xff\n"), "\"x\xef\xbf\xbd\\n\"");
}

TEST(add_string_writes_every_byte_so_that_jansson_reads_it_back)
{
    char bytes[128];
    struct strbuf out;
    json_t *string;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    strbuf_init(&out, 0);
    json_write_string(&out, bytes, sizeof bytes);
    string = json_loadb(out.bytes, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(string);
    assert_int_equal(json_string_length(string), sizeof bytes);
    assert_memory_equal(json_string_value(string), bytes, sizeof bytes);
    json_decref(string);
    strbuf_fini(&out);
}

int main(void)
{
    int failed;

    json_text_init(&text);
    failed = run_cases(NULL, NULL);
    json_text_fini(&text);
    return failed;
}
