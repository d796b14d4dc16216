/*
 * Printed text for a reader: sequences, lines that are overwritten or repeated, and what is not touched.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../cases.h"
#include "base/strbuf.h"
#include "base/terminal_text.h"

#define E "\x1b"

struct row {
    const char *printed, *shown; /* NULL: the same, and nothing is left out */
};

static void check(const struct row *rows, size_t count)
{
    struct strbuf out = {0};
    for (size_t i = 0; i < count; i++) {
        const char *shown = rows[i].shown == NULL ? rows[i].printed : rows[i].shown;
        strbuf_clear(&out);
        bool is_changed = terminal_text_add(&out, rows[i].printed, strlen(rows[i].printed));
        if (strcmp(strbuf_string(&out), shown) != 0 || is_changed != (rows[i].shown != NULL))
            fail_msg("row %zu: \"%s\", %d", i, strbuf_string(&out), is_changed);
    }
    strbuf_fini(&out);
}

#define CHECK_ROWS(rows) check(rows, sizeof(rows) / sizeof *(rows))

TEST(escape_sequences_are_left_out)
{
    static const struct row rows[] = {
        {"", NULL},
        {"plain [31m text\n", NULL},
        {E "[31mred" E "[0m and " E "[1;38;5;4mblue" E "[m\n", "red and blue\n"},
        {E "[2J" E "[H" E "[?25lhidden cursor" E "[?25h", "hidden cursor"},
        {E "]0;a title\ashown", "shown"},
        {E "]0;a title" E "\\shown", "shown"},
        {E "]8;;http://x/" E "\\link" E "]8;;" E "\\!", "link!"},
        {E "P1;2q\x80\xff" E "\\after", "after"},
        {E "(Bcharset" E "7" E "8" E "c" E "=", "charset"},
        {"\xc3\xa4" E "[1m\xe2\x82\xac" E "[0m", "\xc3\xa4\xe2\x82\xac"},
        /* Not ended. */
        {"end" E, "end"},
        {"end" E "[3", "end"},
        {"end" E "]0;a tit", "end"},
        {"end" E "]0;a title" E, "end"},
        /* Interrupted: text after all. */
        {E "[3\nnext\n", NULL},
        {E "[3\xc3\xa4\n", NULL},
        {E "]0;a title\nnext line\n", NULL},
        {E "\nx", NULL},
        {E "[3" E "[1mx", E "[3x"},
        {E E "[1mx", E "x"},
    };
    CHECK_ROWS(rows);
}

TEST(an_overwritten_line_is_its_last_state)
{
    static const struct row rows[] = {
        {"10%\r20%\r30%\n", "30%\n"},
        {"10%\r20%\r30%", "30%"},
        {"10%\r20%\r", "20%"},
        {"100%\r" E "[Kdone\n", "done\n"},
        {"a\r\nb\r\n", NULL},
        {"a\r\r\nb", "a\r\nb"},
        {"\r\n\r\n", NULL},
        {"\rx", "x"},
        {"work |\b/\b-\b\\ \n", "work \\ \n"},
        {"10%\b\b\b20%\b\b\b", "20%"},
        {"\xc3\xa4\b\xe2\x82\xac\b\b\bx\n", "x\n"},
        {"\b\b\n", "\n"},
    };
    struct strbuf out = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf_clear(&out);
        terminal_text_add(&out, rows[i].printed, strlen(rows[i].printed));
        const char *shown = rows[i].shown == NULL ? rows[i].printed : rows[i].shown;
        assert_string_equal(strbuf_string(&out), shown);
    }
    strbuf_clear(&out);
    for (int i = 1; i <= 400; i++) {
        char line[30];
        int len = snprintf(line, sizeof line, "%d/400 done\r", i);
        strbuf_add(&out, line, (size_t)len);
    }
    strbuf_addc(&out, '\n');
    struct strbuf shown = {0};
    assert_true(terminal_text_add(&shown, out.bytes, out.len));
    assert_string_equal(shown.bytes, "400/400 done\r\n");
    strbuf_fini(&shown);
    strbuf_fini(&out);
}

TEST(a_line_that_follows_itself_more_than_twice_is_counted)
{
    static const struct row rows[] = {
        {"a\na\na\n", NULL},
        {"a\na\na\na\n", "a [… 4 times …]\n"},
        {"a\na\na\na", "a [… 4 times …]\n"},
        {"x\na\na\na\na\na\nb\n", "x\na [… 5 times …]\nb\n"},
        {"a\r\na\na\r\na\n", "a\r [… 4 times …]\n"},
        {"\n\n\n", NULL},
        {"x\n\n\n\n\n\ny", "x\n [… 5 times …]\ny"},
        {"a\nb\na\nb\na\nb\na\nb\n", NULL},
        {"a\na\na\nab\nab\nab\n", NULL},
        {E "[1ma" E "[m\na\na\na\nb", "a [… 4 times …]\nb"},
        {"1%\ra\n2%\ra\na\na\n", "a [… 4 times …]\n"},
    };
    CHECK_ROWS(rows);
}

TEST(zeros_and_bytes_that_are_no_text_stay)
{
    static const char bytes[] = "a\0b\0\n\x80\xff\x7f\t\a\v";
    struct strbuf out = {0};
    assert_false(terminal_text_add(&out, bytes, sizeof bytes));
    assert_int_equal(out.len, sizeof bytes);
    assert_memory_equal(out.bytes, bytes, sizeof bytes);
    strbuf_fini(&out);
}

TEST(a_floor_is_where_an_unfinished_sequence_begins)
{
    static const struct {
        const char *text;
        size_t floor;
    } rows[] = {
        {"", 0},           {"abc", 3},         {"ab" E, 2},          {"ab" E "[", 2},    {"ab" E "[3;", 2},
        {"ab" E "[3m", 6}, {"ab" E "]0;x", 2}, {"ab" E "]0;x\a", 8}, {E "[1m" E "(", 4}, {E E, 1},
        {E "[3\n", 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(terminal_text_floor(rows[i].text, strlen(rows[i].text)), rows[i].floor);
}

/* Two MiB are what a capture keeps. */
TEST(much_text_takes_little_time)
{
    static const char *const pieces[] = {E "]", E "[", "\n", "\r", "x\b", "a\n\n\n\n\n", "word "};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct strbuf text = {0}, out = {0};
        while (text.len < (size_t)2 << 20)
            strbuf_adds(&text, pieces[i]);
        clock_t began = clock();
        terminal_text_add(&out, text.bytes, text.len);
        if (clock() - began > CLOCKS_PER_SEC)
            fail_msg("%zu took %ld ms", i, (long)(clock() - began) * 1000 / CLOCKS_PER_SEC);
        assert_true(out.len <= 5 * text.len);
        strbuf_fini(&out);
        strbuf_fini(&text);
    }
}
