/*
 * UTF-8 against a table of its corners and against a second, slow decoder written from the definition.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "guarded.h"
#include "strbuf_test.h"

#define BYTES(literal) (literal), sizeof(literal) - 1
#define REPLACEMENT "\xef\xbf\xbd"

struct row {
    const char *name;
    const char *bytes;
    size_t len;
    size_t prefix;
    const char *repaired;
    size_t repaired_len;
};

static const struct row rows[] = {
    {"empty", BYTES(""), 0, BYTES("")},
    {"ASCII", BYTES("plain text, rather long"), 23, BYTES("plain text, rather long")},
    {"NUL", BYTES("a\0b"), 3, BYTES("a\0b")},
    {"smallest of two bytes", BYTES("\xc2\x80"), 2, BYTES("\xc2\x80")},
    {"largest of two bytes", BYTES("\xdf\xbf"), 2, BYTES("\xdf\xbf")},
    {"smallest of three bytes", BYTES("\xe0\xa0\x80"), 3, BYTES("\xe0\xa0\x80")},
    {"largest of three bytes", BYTES("\xef\xbf\xbf"), 3, BYTES("\xef\xbf\xbf")},
    {"last before the surrogates", BYTES("\xed\x9f\xbf"), 3, BYTES("\xed\x9f\xbf")},
    {"first behind the surrogates", BYTES("\xee\x80\x80"), 3, BYTES("\xee\x80\x80")},
    {"smallest of four bytes", BYTES("\xf0\x90\x80\x80"), 4, BYTES("\xf0\x90\x80\x80")},
    {"largest of all", BYTES("\xf4\x8f\xbf\xbf"), 4, BYTES("\xf4\x8f\xbf\xbf")},
    {"lone continuation", BYTES("a\x80z"), 1, BYTES("a" REPLACEMENT "z")},
    {"two lone continuations", BYTES("\x80\xbf"), 0, BYTES(REPLACEMENT REPLACEMENT)},
    {"overlong slash of two", BYTES("\xc0\xaf"), 0, BYTES(REPLACEMENT REPLACEMENT)},
    {"overlong NUL", BYTES("\xc0\x80"), 0, BYTES(REPLACEMENT REPLACEMENT)},
    {"overlong c1", BYTES("\xc1\xbf"), 0, BYTES(REPLACEMENT REPLACEMENT)},
    {"overlong of three", BYTES("\xe0\x9f\xbf"), 0, BYTES(REPLACEMENT REPLACEMENT REPLACEMENT)},
    {"overlong of four", BYTES("\xf0\x8f\xbf\xbf"), 0,
     BYTES(REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT)},
    {"first surrogate", BYTES("\xed\xa0\x80"), 0, BYTES(REPLACEMENT REPLACEMENT REPLACEMENT)},
    {"last surrogate", BYTES("\xed\xbf\xbf"), 0, BYTES(REPLACEMENT REPLACEMENT REPLACEMENT)},
    {"above the largest", BYTES("\xf4\x90\x80\x80"), 0,
     BYTES(REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT)},
    {"lead f5", BYTES("\xf5\x80"), 0, BYTES(REPLACEMENT REPLACEMENT)},
    {"lead ff", BYTES("\xff"), 0, BYTES(REPLACEMENT)},
    {"cut after one of two", BYTES("ab\xc3"), 2, BYTES("ab" REPLACEMENT)},
    {"cut after two of three", BYTES("ab\xe2\x82"), 2, BYTES("ab" REPLACEMENT)},
    {"cut after three of four", BYTES("ab\xf0\x9f\x8c"), 2, BYTES("ab" REPLACEMENT)},
    {"broken off by a letter", BYTES("\xe2\x82z"), 0, BYTES(REPLACEMENT "z")},
    {"broken off by another lead", BYTES("\xf0\x9f\xc3\xa9"), 0, BYTES(REPLACEMENT "\xc3\xa9")},
    /* The example of the Unicode standard, table 3-8 in spirit. */
    {"the standard's row of broken ones", BYTES("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"), 1,
     BYTES("a" REPLACEMENT REPLACEMENT REPLACEMENT "b" REPLACEMENT "c" REPLACEMENT REPLACEMENT "d")},
    {"bad byte behind eight good ones", BYTES("12345678\xff"), 8, BYTES("12345678" REPLACEMENT)},
    {"bad byte as the eighth", BYTES("1234567\xff"), 7, BYTES("1234567" REPLACEMENT)},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

/* The definition itself: decode, and compare with the smallest number that needs so many bytes. 0 if
 * ill-formed. */
static size_t slow_character_len(const unsigned char *s, size_t len)
{
    static const unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n;
    if (s[0] < 0x80)
        return 1;
    for (n = 2; n <= 4; n++)
        if ((unsigned)s[0] >> (7 - n) == (1u << (n + 1)) - 2)
            break;
    if (n > 4 || n > len)
        return 0;
    unsigned number = s[0] & ((1u << (7 - n)) - 1);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        number = number << 6 | (s[i] & 0x3f);
    }
    if (number < smallest[n] || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff))
        return 0;
    return n;
}

static size_t slow_valid_prefix(const char *bytes, size_t len)
{
    size_t at = 0, n;
    while (at < len && (n = slow_character_len((const unsigned char *)bytes + at, len - at)) > 0)
        at += n;
    return at;
}

TEST(utf8_valid_prefix_stops_where_the_table_requires)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        size_t prefix = utf8_valid_prefix(g.bytes, row->len);
        if (prefix != row->prefix)
            fail_msg("%s: prefix %zu, not %zu", row->name, row->prefix, prefix);
        assert_int_equal(utf8_is_valid(g.bytes, row->len), row->prefix == row->len);
        guarded_free(&g);
    }
}

TEST(utf8_valid_prefix_finds_each_row_at_each_offset)
{
    char text[64];
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++)
        for (size_t offset = 0; offset < 20; offset++) {
            struct guarded g;
            memset(text, 'x', sizeof text);
            memcpy(text + offset, row->bytes, row->len);
            g = guarded_copy(text, offset + row->len);
            if (utf8_valid_prefix(g.bytes, offset + row->len) != offset + row->prefix)
                fail_msg("%s at %zu", row->name, offset);
            guarded_free(&g);
        }
}

TEST(utf8_valid_prefix_agrees_with_the_definition_on_all_short_sequences)
{
    char s[4];
    for (unsigned i = 0; i < 0x1000000; i++) {
        s[0] = (char)(i >> 16);
        s[1] = (char)(i >> 8);
        s[2] = (char)i;
        if (utf8_valid_prefix(s, 3) != slow_valid_prefix(s, 3))
            fail_msg("%06x", i);
    }
    /* All of four bytes that start with a lead of four; the last two at their corners. */
    for (unsigned i = 0xf000; i < 0xf800; i++)
        for (unsigned j = 0; j < 0x10000; j += j % 0x40 == 0x3f ? 1 : 0x3f) {
            s[0] = (char)(i >> 8);
            s[1] = (char)i;
            s[2] = (char)(j >> 8);
            s[3] = (char)j;
            if (utf8_valid_prefix(s, 4) != slow_valid_prefix(s, 4))
                fail_msg("%04x%04x", i, j);
        }
}

TEST(utf8_repair_replaces_maximal_parts)
{
    struct strbuf out;
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        strbuf_init(&out, 0);
        assert_true(utf8_repair(&out, g.bytes, row->len));
        if (out.len != row->repaired_len || memcmp(strbuf_string(&out), row->repaired, out.len) != 0)
            fail_msg("%s: repaired to \"%s\"", row->name, strbuf_string(&out));
        strbuf_fini(&out);
        guarded_free(&g);
    }
}

STRBUF_TEST(once, utf8_repair_of_random_bytes_is_valid_and_stays)
{
    static const unsigned char likely[] = {0x00, 'a',  0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf,
                                           0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf3, 0xf4, 0xf5, 0xff};
    char bytes[40];
    struct strbuf twice;
    random_seed();
    strbuf_init(&twice, 0);
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)random() % sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)likely[(size_t)random() % sizeof likely];
        strbuf_clear(once);
        strbuf_clear(&twice);
        assert_int_equal(utf8_valid_prefix(bytes, len), slow_valid_prefix(bytes, len));
        assert_true(utf8_repair(once, bytes, len));
        assert_true(utf8_is_valid(strbuf_string(once), once->len));
        assert_true(utf8_repair(&twice, strbuf_string(once), once->len));
        assert_int_equal(once->len, twice.len);
        assert_memory_equal(strbuf_string(once), strbuf_string(&twice), once->len);
    }
    strbuf_fini(&twice);
}

STRBUF_TEST(whole, utf8_repair_stops_at_the_cap_between_characters)
{
    static const char text[] = "ab\xc3\xa9\xe2\x82\xac\xff\xf0\x9f\x8c\xb2z";
    struct strbuf out;
    assert_true(utf8_repair(whole, text, sizeof text - 1));
    for (size_t limit = 1; limit <= whole->len; limit++) {
        strbuf_init(&out, limit);
        assert_int_equal(utf8_repair(&out, text, sizeof text - 1), limit == whole->len);
        assert_int_equal(out.is_overflown, limit < whole->len);
        assert_int_equal(out.len, utf8_floor(whole->bytes, whole->len, limit));
        assert_memory_equal(strbuf_string(&out), whole->bytes, out.len);
        strbuf_fini(&out);
    }
}

TEST(utf8_mask_keeps_the_length)
{
    char text[] = "a\xff\xe2\x82z\xc3\xa9\xf0\x9f";
    utf8_mask(text, sizeof text - 1);
    assert_string_equal(text, "a???z\xc3\xa9??");
    utf8_mask(text, 0);
}

TEST(utf8_floor_never_cuts_a_character)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb2z";
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};
    for (size_t at = 0; at < sizeof expected / sizeof *expected; at++)
        assert_int_equal(utf8_floor(text, sizeof text - 1, at), expected[at]);
    assert_int_equal(utf8_floor("", 0, 5), 0);
}

TEST(utf8_floor_is_bounded_on_bytes_that_are_not_text)
{
    struct guarded g = guarded_copy("\x80\x80\x80\x80\x80\x80", 6);
    for (size_t at = 0; at <= 6; at++)
        assert_int_equal(utf8_floor(g.bytes, 6, at), at);
    guarded_free(&g);
    /* A continuation that belongs to nothing is not part of the character before it. */
    assert_int_equal(utf8_floor("a\x80", 2, 1), 1);
    assert_int_equal(utf8_floor("\xc3\xa9\x80", 3, 2), 2);
}
