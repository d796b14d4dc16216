/*
 * Numbers and lines as people read them.
 */
#include <string.h>

#include "../cases.h"
#include "base/strbuf.h"
#include "base/text.h"

TEST(text_groups_digits_by_thousands)
{
    static const struct {
        uint64_t n;
        const char *text;
    } rows[] = {
        {0, "0"},
        {7, "7"},
        {999, "999"},
        {1000, "1,000"},
        {12345, "12,345"},
        {999999, "999,999"},
        {1000000, "1,000,000"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(text_grouped(rows[i].n).text, rows[i].text);
}

TEST(text_counts_have_a_plural_but_for_one)
{
    assert_string_equal(text_count(0, "frame").text, "0 frames");
    assert_string_equal(text_count(1, "frame").text, "1 frame");
    assert_string_equal(text_count(1234, "frame").text, "1,234 frames");
}

TEST(text_columns_are_aligned_at_the_right)
{
    assert_string_equal(text_column(1234, 8).text, "   1,234");
    assert_string_equal(text_column(-1, 3).text, "  0");
    assert_string_equal(text_ms(1234567, 10).text, " 1,234.567");
    assert_string_equal(text_ms(5, 3).text, "0.005");
}

TEST(text_times_are_in_utc)
{
    assert_string_equal(text_time(1772287439).text, "14:03:59Z");
    assert_string_equal(text_date(1772287439).text, "2026-02-28T14:03:59Z");
}

TEST(text_indents_each_line_that_is_not_empty)
{
    static const struct {
        const char *text, *indented;
    } rows[] = {
        {"", ""},     {"a", "  a"},     {"a\nb", "  a\n  b"}, {"a\n", "  a\n"}, {"a\n\nb", "  a\n\n  b"},
        {"\n", "\n"}, {"\na", "\n  a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct strbuf out;
        strbuf_init(&out, 0);
        text_add_indented(&out, rows[i].text, strlen(rows[i].text), "  ");
        assert_string_equal(strbuf_string(&out), rows[i].indented);
        strbuf_fini(&out);
    }
}

TEST(text_in_base64_has_padding_and_leads_back_to_the_bytes)
{
    static const char *const rows[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob\xff?", "Zm9vYv8/"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0}, bytes = {0};
        text_write_base64(&text, (const unsigned char *)rows[i][0], strlen(rows[i][0]));
        assert_string_equal(strbuf_string(&text), rows[i][1]);
        assert_true(text_add_base64(&bytes, strbuf_string(&text), strcspn(strbuf_string(&text), "="), "+/"));
        assert_string_equal(strbuf_string(&bytes), rows[i][0]);
        strbuf_fini(&text);
        strbuf_fini(&bytes);
    }
}

TEST(text_indents_only_the_bytes_given)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    text_add_indented(&out, "one\ntwo\nthree", 7, "> ");
    assert_string_equal(strbuf_string(&out), "> one\n> two");
    strbuf_fini(&out);
}
