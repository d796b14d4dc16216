/*
 * What is mended in a message before jansson reads it, and how strings are written.
 */
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "guarded.h"
#include "mcp/json_text.h"
#include "base/json_write.h"

#define BYTES(string) string, sizeof string - 1

TEST(surrogates_without_a_partner_are_replaced)
{
    static const char *const rows[][2] = {
        {"{\"a\":-1}", "{\"a\":-1}"},
        {"[\"\\ud800\"]", "[\"\\ufffd\"]"},
        {"[\"\\uDC00\\ud800x\"]", "[\"\\ufffd\\ufffdx\"]"},
        {"[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]"},
        {"[\"\\ud83d\\ud83d\\ude00\"]", "[\"\\ufffd\\ud83d\\ude00\"]"},
        {"[\"\\ud83d\\\\ude00\"]", "[\"\\ufffd\\\\ude00\"]"},
        {"[\"\\\\ud800\"]", "[\"\\\\ud800\"]"},
        {"[\"\\ud83d\\u0041\"]", "[\"\\ufffd\\u0041\"]"},
        {"{\"\\ud800\":1}", "{\"\\ufffd\":1}"},
        {"[\"\\ud7ff\\ue000\"]", "[\"\\ud7ff\\ue000\"]"},
        {"[\"\\\"\\ud800\"]", "[\"\\\"\\ufffd\"]"},
    };
    char copy[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        strcpy(copy, rows[i][0]);
        json_text_mend(copy, strlen(copy));
        assert_string_equal(copy, rows[i][1]);
        json_t *value = json_loads(copy, 0, NULL);
        assert_non_null(value);
        json_decref(value);
    }
}

TEST(values_are_counted_at_all_depths)
{
    static const struct {
        char json[48];
        size_t count;
    } rows[] = {
        {"1", 1},
        {"[1]", 2},
        {"[[[1]]]", 4},
        {"{\"a\":{\"b\":[1,2]}}", 5},
        {"[\"[,{\",\"\\\",\"]", 3},
        {"[1,{\"a\":2,\"b\":3},4]", 6},
    };
    char copy[48];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        strcpy(copy, rows[i].json);
        assert_int_equal(json_text_mend(copy, strlen(copy)).value_count, rows[i].count);
    }
}

/* In a copy that ends where memory ends. */
static json_t *find_id(const char *json, size_t len)
{
    struct guarded g = guarded_copy(json, len);
    struct json_text text = json_text_mend(g.bytes, len);
    json_t *id = json_text_id(&text, g.bytes, len);
    guarded_free(&g);
    return id;
}

TEST(the_id_of_the_root_object_is_found)
{
    static const struct {
        const char *json, *id; /* NULL: none */
    } rows[] = {
        {"{\"id\":1}", "1"},
        {" { \"id\" : \"a\\u0062\" , \"x\":1}", "\"ab\""},
        {"{\"params\":{\"id\":1},\"id\":2}", "2"},
        {"{\"id\":1,\"id\":-2}", "-2"},
        {"{\"x\":\"id\",\"y\":\"\\\"id\\\":3\"}", NULL},
        {"{\"params\":{\"id\":1}}", NULL},
        {"[{\"id\":1}]", NULL},
        {"{\"id\":[1]}", NULL},
        {"{\"id\":123456789012345678901}", NULL},
        {"{\"ID\":1,\"idd\":2}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *id = find_id(rows[i].json, strlen(rows[i].json));
        char *text = json_dumps(id, JSON_ENCODE_ANY);
        if (rows[i].id == NULL)
            assert_null(id);
        else
            assert_string_equal(text, rows[i].id);
        free(text);
        json_decref(id);
    }
}

TEST(no_byte_behind_any_truncation_is_read)
{
    static const char whole[] =
        "{\"params\":[\"\\ud800\\udc00\\ud800\\\"\\\\\",[{}]],\"id\" : \"\\ud83d\\ude00\"}";
    for (size_t len = 0; len < sizeof whole; len++)
        json_decref(find_id(whole, len));
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
    size_t i;
    for (i = 0; i < sizeof bytes; i++)
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
