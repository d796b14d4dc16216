/*
 * Numbers and lines as people read them.
 */
#include <string.h>

#include "base/text.h"
#include "strbuf_test.h"

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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct strbuf out;
        strbuf_init(&out, 0);
        text_add_grouped(&out, rows[i].n);
        assert_string_equal(strbuf_string(&out), rows[i].text);
        strbuf_fini(&out);
    }
}

STRBUF_TEST(out, text_counts_have_a_plural_but_for_one)
{
    text_add_count(out, 0, "frame");
    strbuf_adds(out, "; ");
    text_add_count(out, 1, "frame");
    strbuf_adds(out, "; ");
    text_add_count(out, 1234, "frame");
    assert_string_equal(strbuf_string(out), "0 frames; 1 frame; 1,234 frames");
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

STRBUF_TEST(out, text_indents_only_the_bytes_given)
{
    text_add_indented(out, "one\ntwo\nthree", 7, "> ");
    assert_string_equal(strbuf_string(out), "> one\n> two");
}
