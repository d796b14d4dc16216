/*
 * The values of the agent protocol: what is accepted, what is refused and where the blame goes, and that what
 * is written comes back.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "guarded.h"
#include "strbuf_test.h"
#include "wire/sexp.h"

#define BYTES(literal) (literal), sizeof(literal) - 1
#define TEN(x) x x x x x x x x x x

struct good_row {
    const char *bytes;
    size_t len;
    const char *written; /* by sexp_write_value() */
};

static const struct good_row good_rows[] = {
    {BYTES("()"), "()"},
    {BYTES("nil"), "nil"},
    {BYTES("t"), "t"},
    {BYTES(":t"), "t"},
    {BYTES(":a"), ":a"},
    {BYTES(":lower-case-with-dashes"), ":lower-case-with-dashes"},
    {BYTES(":x86-64"), ":x86-64"},
    {BYTES("0"), "0"},
    {BYTES("-0"), "0"},
    {BYTES("007"), "7"},
    {BYTES("-12"), "-12"},
    {BYTES("9223372036854775807"), "9223372036854775807"},
    {BYTES("-9223372036854775808"), "-9223372036854775808"},
    {BYTES("9223372036854775806"), "9223372036854775806"},
    {BYTES("-9223372036854775807"), "-9223372036854775807"},
    {BYTES("0009223372036854775807"), "9223372036854775807"},
    {BYTES("1.5"), "1.5"},
    {BYTES("-0.25"), "-0.25"},
    {BYTES("0.0"), "0.0"},
    {BYTES("100000000000000000000.0"), "100000000000000000000.0"},
    {BYTES("\"\""), "\"\""},
    {BYTES("\"a b\""), "\"a b\""},
    {BYTES("\"(\""), "\"(\""},
    {BYTES("\"\\\"\\\\\""), "\"\\\"\\\\\""},
    {BYTES("\"12345678\""), "\"12345678\""},
    {BYTES("\"1234567\\\"9\""), "\"1234567\\\"9\""},
    {BYTES("\"12345678\\\\9\""), "\"12345678\\\\9\""},
    {BYTES("\"line\nline\t\r\""), "\"line\nline\t\r\""},
    {BYTES("\"\x01\x7f\""), "\"\x01\x7f\""},
    {BYTES("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb2\""), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb2\""},
    {BYTES(" \t\r\n1 \t\r\n"), "1"},
    {BYTES("  (  1  2  )  "), "(1 2)"},
    {BYTES("(())"), "(())"},
    {BYTES("(() ())"), "(() ())"},
    {BYTES("(1 (2 (3) 4) 5)"), "(1 (2 (3) 4) 5)"},
    {BYTES("(nil t)"), "(nil t)"},
    {BYTES("(12 :ok :values (\"3\" \"a\\\"b\") :warnings () :package \"CL-USER\" :cut (nil 12) :timing (1 2 "
           "-3 4.5))"),
     "(12 :ok :values (\"3\" \"a\\\"b\") :warnings () :package \"CL-USER\" :cut (nil 12) :timing (1 2 -3 "
     "4.5))"},
    {BYTES("(0 :hello :pid 77 :implementation \"SBCL\" :features (:fork :frames :locals) :notices nil)"),
     "(0 :hello :pid 77 :implementation \"SBCL\" :features (:fork :frames :locals) :notices nil)"},
};
#define GOOD_COUNT (sizeof good_rows / sizeof *good_rows)

struct bad_row {
    const char *name;
    const char *bytes;
    size_t len;
    enum error_code code;
    size_t position;
};

static const struct bad_row bad_rows[] = {
    {"nothing", BYTES(""), ERR_SYNTAX, 0},
    {"only spaces", BYTES("  \n"), ERR_SYNTAX, 3},
    {"an open list", BYTES("("), ERR_SYNTAX, 1},
    {"an open list with an item", BYTES("(1"), ERR_SYNTAX, 2},
    {"an open list with a space", BYTES("(1 "), ERR_SYNTAX, 3},
    {"one parenthesis missing", BYTES("((1)"), ERR_SYNTAX, 4},
    {"a closing parenthesis alone", BYTES(")"), ERR_SYNTAX, 0},
    {"one closing parenthesis too many", BYTES("(1))"), ERR_SYNTAX, 3},
    {"two values", BYTES("1 2"), ERR_SYNTAX, 2},
    {"two lists", BYTES("(1)(2)"), ERR_SYNTAX, 3},
    {"rubbish behind", BYTES("(1) x"), ERR_SYNTAX, 4},
    {"NUL behind", BYTES("(1)\0"), ERR_SYNTAX, 3},
    {"NUL in front", BYTES("\0(1)"), ERR_SYNTAX, 0},
    {"NUL between values", BYTES("(1\0002)"), ERR_SYNTAX, 2},
    {"vertical tab is no space", BYTES("(1\v2)"), ERR_SYNTAX, 2},
    {"byte order mark", BYTES("\xef\xbb\xbf(1)"), ERR_SYNTAX, 0},
    {"non-breaking space",
     BYTES("(1\xc2\xa0"
           "2)"),
     ERR_SYNTAX, 2},
    {"letters outside a string", BYTES("(1 \xc3\xa9)"), ERR_SYNTAX, 3},
    {"an open string", BYTES("\""), ERR_SYNTAX, 1},
    {"an open string with text", BYTES("\"abc"), ERR_SYNTAX, 4},
    {"an open string of eight", BYTES("\"12345678"), ERR_SYNTAX, 9},
    {"an open string in a list", BYTES("(1 \"abc)"), ERR_SYNTAX, 8},
    {"a backslash at the end", BYTES("\"abc\\"), ERR_SYNTAX, 5},
    {"an escaped quote at the end", BYTES("\"abc\\\""), ERR_SYNTAX, 6},
    {"an escaped n", BYTES("\"a\\nb\""), ERR_SYNTAX, 3},
    {"an escaped NUL", BYTES("\"a\\\0b\""), ERR_SYNTAX, 3},
    {"an escaped letter of two bytes", BYTES("\"\\\xc3\xa9\""), ERR_SYNTAX, 2},
    {"a lone continuation in a string", BYTES("(\"a\x80\")"), ERR_SYNTAX, 3},
    {"a surrogate in a string", BYTES("\"\xed\xa0\x80\""), ERR_SYNTAX, 1},
    {"an overlong quote in a string", BYTES("\"\xc0\xa2\""), ERR_SYNTAX, 1},
    {"above U+10FFFF", BYTES("\"\xf4\x90\x80\x80\""), ERR_SYNTAX, 1},
    {"a character cut by the quote", BYTES("\"\xe2\x82\""), ERR_SYNTAX, 1},
    {"a character cut by the end", BYTES("\"ab\xe2\x82"), ERR_SYNTAX, 3},
    {"bad UTF-8 far behind", BYTES("\"1234567890123456789\xff\""), ERR_SYNTAX, 20},
    {"strings without a space", BYTES("(\"a\"\"b\")"), ERR_SYNTAX, 4},
    {"string and list without a space", BYTES("(\"a\"(1))"), ERR_SYNTAX, 4},
    {"lists without a space", BYTES("((1)(2))"), ERR_SYNTAX, 4},
    {"list and integer without a space", BYTES("((1)2)"), ERR_SYNTAX, 4},
    {"integer and list without a space", BYTES("(1(2))"), ERR_SYNTAX, 2},
    {"integer and string without a space", BYTES("(1\"a\")"), ERR_SYNTAX, 2},
    {"integer and symbol without a space", BYTES("(1:a)"), ERR_SYNTAX, 2},
    {"symbols without a space", BYTES("(:a:b)"), ERR_SYNTAX, 3},
    {"nil and a letter", BYTES("(nilx)"), ERR_SYNTAX, 4},
    {"nil and nil", BYTES("(nilnil)"), ERR_SYNTAX, 4},
    {"t and a letter", BYTES("true"), ERR_SYNTAX, 1},
    {"half of nil", BYTES("(ni)"), ERR_SYNTAX, 3},
    {"half of nil at the end", BYTES("(ni"), ERR_SYNTAX, 3},
    {"null", BYTES("null"), ERR_SYNTAX, 1},
    {"upper-case NIL", BYTES("NIL"), ERR_SYNTAX, 0},
    {"upper-case T", BYTES("(T)"), ERR_SYNTAX, 1},
    {"a bare word", BYTES("(foo)"), ERR_SYNTAX, 1},
    {"a colon alone", BYTES(":"), ERR_SYNTAX, 1},
    {"a colon and a space", BYTES("(: a)"), ERR_SYNTAX, 2},
    {"a colon and a parenthesis", BYTES("(:)"), ERR_SYNTAX, 2},
    {"two colons", BYTES("(::a)"), ERR_SYNTAX, 2},
    {"an upper-case keyword", BYTES("(:Ok)"), ERR_SYNTAX, 2},
    {"a keyword turning upper-case", BYTES("(:oK)"), ERR_SYNTAX, 3},
    {"a keyword with a NUL", BYTES("(:o\0k)"), ERR_SYNTAX, 3},
    {"a keyword of a digit", BYTES("(:1)"), ERR_SYNTAX, 2},
    {"a keyword of a dash", BYTES("(:-)"), ERR_SYNTAX, 2},
    {"a keyword with an underscore", BYTES("(:a_b)"), ERR_SYNTAX, 3},
    {"a keyword with stars", BYTES("(:*a*)"), ERR_SYNTAX, 2},
    {"a keyword in bars", BYTES("(:|a b|)"), ERR_SYNTAX, 2},
    {"a qualified symbol", BYTES("(cl:car)"), ERR_SYNTAX, 1},
    {"a plus sign", BYTES("+1"), ERR_SYNTAX, 0},
    {"a minus sign alone", BYTES("-"), ERR_SYNTAX, 1},
    {"a minus sign and a space", BYTES("(- 1)"), ERR_SYNTAX, 2},
    {"two minus signs", BYTES("--1"), ERR_SYNTAX, 1},
    {"an integer with a letter", BYTES("(12a)"), ERR_SYNTAX, 3},
    {"a hexadecimal integer", BYTES("0x10"), ERR_SYNTAX, 1},
    {"a ratio", BYTES("(1/2)"), ERR_SYNTAX, 2},
    {"an integer over the largest", BYTES("9223372036854775808"), ERR_SYNTAX, 0},
    {"an integer under the smallest", BYTES("-9223372036854775809"), ERR_SYNTAX, 0},
    {"an integer of 2^64", BYTES("(1 18446744073709551616)"), ERR_SYNTAX, 3},
    {"an integer that wraps to 1", BYTES("(1 18446744073709551617)"), ERR_SYNTAX, 3},
    {"a very long integer", BYTES("(" TEN(TEN("9")) ")"), ERR_SYNTAX, 1},
    {"a long integer of zeros at its end", BYTES("(1" TEN(TEN("0")) ")"), ERR_SYNTAX, 1},
    {"an integer with a point", BYTES("(1.)"), ERR_SYNTAX, 3},
    {"an integer with a point at the end", BYTES("1."), ERR_SYNTAX, 2},
    {"a point in front", BYTES("(.5)"), ERR_SYNTAX, 1},
    {"a sign and a point", BYTES("(-.5)"), ERR_SYNTAX, 2},
    {"two points", BYTES("(1.5.6)"), ERR_SYNTAX, 4},
    {"an exponent", BYTES("(1.5e3)"), ERR_SYNTAX, 4},
    {"an exponent without a point", BYTES("(1e3)"), ERR_SYNTAX, 2},
    {"a double of Lisp", BYTES("(1.5d0)"), ERR_SYNTAX, 4},
    {"a float with a comma", BYTES("(1,5)"), ERR_SYNTAX, 2},
    {"infinity", BYTES("(inf)"), ERR_SYNTAX, 1},
    {"not a number", BYTES("nan"), ERR_SYNTAX, 1},
    {"a float out of range", BYTES("(2 1" TEN(TEN("000") "0") ".0)"), ERR_SYNTAX, 3},
    {"a float of too many digits", BYTES("(2 0." TEN(TEN(TEN("0"))) TEN(TEN("00000")) "1)"), ERR_SYNTAX, 3},
    {"a dotted pair", BYTES("(1 . 2)"), ERR_SYNTAX, 3},
    {"a quote", BYTES("('a)"), ERR_SYNTAX, 1},
    {"a vector", BYTES("#(1)"), ERR_SYNTAX, 0},
    {"a read-time evaluation", BYTES("(#.(quit))"), ERR_SYNTAX, 1},
    {"a character", BYTES("(#\\a)"), ERR_SYNTAX, 1},
    {"a comment", BYTES("(1 ;x\n)"), ERR_SYNTAX, 3},
    {"a block comment", BYTES("#|x|# 1"), ERR_SYNTAX, 0},
    {"brackets", BYTES("[1]"), ERR_SYNTAX, 0},
    {"JSON", BYTES("{\"a\":1}"), ERR_SYNTAX, 0},
    {"65 open lists", BYTES(TEN("((((((") "((((("), ERR_TOO_DEEP, 64},
    {"65 levels", BYTES(TEN("((((((") "(((((" TEN("))))))") ")))))"), ERR_TOO_DEEP, 64},
    {"65 levels inside spaces", BYTES(" ( " TEN("((((((") "(((( 1"), ERR_TOO_DEEP, 66},
    {"64 open lists", BYTES(TEN("((((((") "(((("), ERR_SYNTAX, 64},
};
#define BAD_COUNT (sizeof bad_rows / sizeof *bad_rows)

static struct sexp_document *parse_text(const char *text)
{
    struct err err = {.code = ERR_NONE};
    struct sexp_document *document = sexp_parse(text, strlen(text), &err);
    if (!document)
        fail_msg("%s", err.message);
    return document;
}

STRBUF_TEST(out, parser_accepts_the_good_rows)
{
    struct err err;
    for (const struct good_row *row = good_rows; row < good_rows + GOOD_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        struct sexp_document *document = sexp_parse(g.bytes, row->len, &err);
        if (!document)
            fail_msg("%s: %s", row->bytes, err.message);
        guarded_free(&g); /* the document must not point into it */
        strbuf_clear(out);
        sexp_write_value(out, sexp_root(document));
        assert_string_equal(strbuf_string(out), row->written);
        sexp_document_free(document);
    }
}

TEST(parser_refuses_the_bad_rows_and_blames_the_right_byte)
{
    for (const struct bad_row *row = bad_rows; row < bad_rows + BAD_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
            struct err err;
            struct sexp_document *document;
            memset(&err, 0xff, sizeof err);
            document = sexp_parse(is_guarded ? g.bytes : row->bytes, row->len, &err);
            if (document)
                fail_msg("%s: accepted", row->name);
            if (err.code != row->code || err.position != row->position)
                fail_msg("%s: code %d, not %d; position %zu, not %zu; %s", row->name, (int)err.code,
                         (int)row->code, err.position, row->position, err.message);
            assert_true(strlen(err.message) > 0);
        }
        assert_null(sexp_parse(g.bytes, row->len, NULL));
        guarded_free(&g);
    }
}

/* Every proper beginning of a list or a string is incomplete, and the blame goes to its end. */
TEST(parser_refuses_every_truncation)
{
    struct err err;
    for (const struct good_row *row = good_rows; row < good_rows + GOOD_COUNT; row++) {
        if (row->bytes[0] != '(' && row->bytes[0] != '"')
            continue;
        for (size_t len = 0; len < row->len; len++) {
            struct guarded g = guarded_copy(row->bytes, len);
            if (sexp_parse(g.bytes, len, &err))
                fail_msg("%s: accepted when cut at %zu", row->bytes, len);
            assert_int_equal(err.code, ERR_SYNTAX);
            assert_int_equal(err.position, utf8_valid_prefix(row->bytes, len));
            guarded_free(&g);
        }
    }
}

/* No byte of a good payload can be replaced by anything that reads outside it or breaks the document. */
STRBUF_TEST(out, parser_survives_every_replacement_of_every_byte)
{
    struct err err;
    for (const struct good_row *row = good_rows; row < good_rows + GOOD_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        for (size_t at = 0; at < row->len; at++) {
            for (int c = 0; c < 256; c++) {
                struct sexp_document *document;
                g.bytes[at] = (char)c;
                document = sexp_parse(g.bytes, row->len, &err);
                if (document) {
                    strbuf_clear(out);
                    sexp_write_value(out, sexp_root(document));
                    sexp_document_free(document);
                } else {
                    assert_int_equal(err.code, ERR_SYNTAX);
                    assert_true(err.position <= row->len);
                }
            }
            g.bytes[at] = row->bytes[at];
        }
        guarded_free(&g);
    }
}

TEST(parser_keeps_nul_bytes_in_strings)
{
    static const char text[] = "(\"a\0b\" \"\0\" \"1234567\0\")";
    struct sexp_document *document = sexp_parse(text, sizeof text - 1, NULL);
    size_t len;
    assert_non_null(document);
    const char *bytes = sexp_string(sexp_nth(sexp_root(document), 0), &len);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    bytes = sexp_string(sexp_nth(sexp_root(document), 1), &len);
    assert_int_equal(len, 1);
    assert_memory_equal(bytes, "\0", 2);
    bytes = sexp_string(sexp_nth(sexp_root(document), 2), &len);
    assert_int_equal(len, 8);
    assert_memory_equal(bytes, "1234567\0", 9);
    sexp_document_free(document);
}

STRBUF_TEST(text, parser_accepts_as_many_levels_as_are_allowed)
{
    for (int i = 0; i < SEXP_MAX_DEPTH; i++)
        strbuf_adds(text, i ? " (7" : "(7");
    for (int i = 0; i < SEXP_MAX_DEPTH; i++)
        strbuf_addc(text, ')');
    struct sexp_document *document = parse_text(strbuf_string(text));
    const struct sexp *value = sexp_root(document);
    for (int i = 1; i < SEXP_MAX_DEPTH; i++) {
        assert_int_equal(sexp_count(value), 2);
        assert_int_equal(sexp_integer(sexp_nth(value, 0), 0), 7);
        value = sexp_nth(value, 1);
    }
    assert_int_equal(sexp_count(value), 1);
    sexp_document_free(document);
}

/* Depth is how deep, not how often: many lists side by side are fine. */
STRBUF_TEST(text, parser_counts_levels_and_not_lists)
{
    strbuf_addc(text, '(');
    for (int i = 0; i < 1000; i++)
        strbuf_adds(text, "((1 2)) ");
    strbuf_addc(text, ')');
    struct sexp_document *document = parse_text(strbuf_string(text));
    assert_int_equal(sexp_count(sexp_root(document)), 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(sexp_integer(sexp_nth(sexp_nth(sexp_nth(sexp_root(document), i), 0), 1), 0), 2);
    sexp_document_free(document);
}

STRBUF_TEST(text, parser_bounds_the_number_of_values)
{
    struct err err;
    strbuf_addc(text, '(');
    for (size_t i = 1; i < SEXP_MAX_VALUES; i++)
        strbuf_add(text, "1 ", 2);
    strbuf_addc(text, ')');
    struct sexp_document *document = sexp_parse(text->bytes, text->len, &err);
    assert_non_null(document);
    assert_int_equal(sexp_count(sexp_root(document)), SEXP_MAX_VALUES - 1);
    sexp_document_free(document);
    text->bytes[text->len - 1] = '1';
    strbuf_addc(text, ')');
    assert_null(sexp_parse(text->bytes, text->len, &err));
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(err.position, text->len - 2);
}

TEST(parser_bounds_the_length_of_the_payload)
{
    size_t len = SEXP_MAX_PAYLOAD;
    char *text = malloc(len + 1);
    struct err err;
    memset(text, 'x', len + 1);
    text[0] = text[len - 1] = '"';
    struct sexp_document *document = sexp_parse(text, len, &err);
    assert_non_null(document);
    assert_int_equal(sexp_root(document)->text.len, len - 2);
    sexp_document_free(document);
    assert_null(sexp_parse(text, len + 1, &err));
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_int_equal(err.position, SEXP_MAX_PAYLOAD);
    free(text);
}

/* Lists of every size around those of the first block and the first stack. */
TEST(parser_keeps_the_items_of_lists_of_any_length)
{
    for (size_t count = 0; count < 1200; count++) {
        struct strbuf text;
        struct sexp_document *document;
        const struct sexp *list;
        strbuf_init(&text, 0);
        sexp_write_open(&text);
        sexp_write_open(&text);
        for (size_t i = 0; i < count; i++)
            sexp_write_integer(&text, (int64_t)i % 10);
        sexp_write_close(&text);
        sexp_write_string(&text, "end", 3);
        sexp_write_close(&text);
        document = parse_text(strbuf_string(&text));
        list = sexp_nth(sexp_root(document), 0);
        assert_int_equal(sexp_count(list), count);
        for (size_t i = 0; i < count; i++)
            if (sexp_integer(sexp_nth(list, i), -1) != (int64_t)i % 10)
                fail_msg("item %zu of %zu", i, count);
        assert_string_equal(sexp_string(sexp_nth(sexp_root(document), 1), NULL), "end");
        sexp_document_free(document);
        strbuf_fini(&text);
    }
}

TEST(floats_are_read_and_written_exactly)
{
    static const double numbers[] = {0.1,      1.5,     -2.5e-3, 123456789.125, DBL_MAX,
                                     -DBL_MAX, DBL_MIN, 5e-324,  1.0 / 3,       0.2 / 9};
    char text[1500];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sexp_document *document;
        snprintf(text, sizeof text, "%.1074f", numbers[i]);
        document = parse_text(text);
        assert_int_equal(sexp_root(document)->type, SEXP_FLOAT);
        assert_memory_equal(&sexp_root(document)->number, &numbers[i], sizeof *numbers);
        struct strbuf written = {0};
        sexp_write_value(&written, sexp_root(document));
        sexp_document_free(document);
        document = parse_text(strbuf_string(&written));
        assert_memory_equal(&sexp_root(document)->number, &numbers[i], sizeof *numbers);
        sexp_document_free(document);
        strbuf_fini(&written);
    }
}

TEST(accessors_find_existing_members)
{
    struct sexp_document *document =
        parse_text("(7 :ok :a 1 :b \"two\" :c (3) :d nil :e () :nested (:a 9) :a 5 :f)");
    const struct sexp *root = sexp_root(document);
    size_t len;
    assert_int_equal(sexp_integer(sexp_nth(root, 0), -1), 7);
    assert_true(sexp_is_symbol(sexp_nth(root, 1), "ok"));
    assert_false(sexp_is_symbol(sexp_nth(root, 1), ":ok"));
    assert_false(sexp_is_symbol(sexp_nth(root, 1), "o"));
    assert_int_equal(sexp_integer(sexp_get(root, 2, "a"), -1), 1);
    assert_string_equal(sexp_string(sexp_get(root, 2, "b"), &len), "two");
    assert_int_equal(len, 3);
    assert_int_equal(sexp_count(sexp_get(root, 2, "c")), 1);
    assert_true(sexp_is_nil(sexp_get(root, 2, "d")));
    assert_true(sexp_is_nil(sexp_get(root, 2, "e")));
    assert_non_null(sexp_get(root, 2, "d"));
    assert_null(sexp_get(root, 2, "f"));
    assert_null(sexp_get(root, 2, "none"));
    assert_null(sexp_get(root, 1, "a"));
    assert_null(sexp_get(root, 100, "a"));
    assert_null(sexp_get(root, SIZE_MAX, "a"));
    assert_false(sexp_is_nil(root));
    sexp_document_free(document);
}

TEST(accessors_give_nothing_for_the_wrong_type)
{
    struct sexp_document *document = parse_text("(1 \"s\" :k nil 1.5 (2))");
    const struct sexp *values[7];
    size_t len = 99;
    values[0] = NULL;
    for (size_t i = 0; i < 6; i++)
        values[i + 1] = sexp_nth(sexp_root(document), i);
    for (size_t i = 0; i < 7; i++) {
        const struct sexp *v = values[i];
        assert_int_equal(sexp_integer(v, -5), i == 1 ? 1 : -5);
        assert_int_equal(sexp_string(v, NULL) != NULL, i == 2);
        assert_int_equal(sexp_is_symbol(v, "k"), i == 3);
        assert_int_equal(sexp_is_symbol(v, "s"), 0);
        assert_int_equal(sexp_is_nil(v), i == 0 || i == 4);
        assert_int_equal(sexp_count(v), i == 6 ? 1 : 0);
        assert_null(sexp_nth(v, 1));
        assert_null(sexp_get(v, 0, "k"));
    }
    assert_null(sexp_string(values[1], &len));
    assert_int_equal(len, 0);
    sexp_document_free(document);
    sexp_document_free(NULL);
}

STRBUF_TEST(out, writer_puts_spaces_only_between_values)
{
    sexp_write_open(out);
    sexp_write_integer(out, 12);
    sexp_write_symbol(out, "evaluate");
    sexp_write_string(out, "(", 1);
    sexp_write_string(out, NULL, 0);
    sexp_write_open(out);
    sexp_write_close(out);
    sexp_write_open(out);
    sexp_write_boolean(out, true);
    sexp_write_boolean(out, false);
    sexp_write_close(out);
    sexp_write_close(out);
    assert_string_equal(strbuf_string(out), "(12 :evaluate \"(\" \"\" () (t nil))");
}

STRBUF_TEST(out, writer_escapes_and_repairs_strings)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *written;
        size_t written_len;
    } rows[] = {
        {BYTES(""), BYTES("\"\"")},
        {BYTES("a\"b\\c"), BYTES("\"a\\\"b\\\\c\"")},
        {BYTES("\"\"\"\"\"\"\"\"\""), BYTES("\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\"")},
        {BYTES("12345678\"12345678\\"), BYTES("\"12345678\\\"12345678\\\\\"")},
        {BYTES("a\0b\n"), BYTES("\"a\0b\n\"")},
        {BYTES("\xc3\xa9\"\xe2\x82\xac"), BYTES("\"\xc3\xa9\\\"\xe2\x82\xac\"")},
        {BYTES("\xe2\x82\"\xff\\"), BYTES("\"\xef\xbf\xbd\\\"\xef\xbf\xbd\\\\\"")},
        {BYTES("a\xed\xa0\x80"), BYTES("\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"")},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct guarded g = guarded_copy(rows[i].bytes, rows[i].len);
        strbuf_clear(out);
        sexp_write_string(out, g.bytes, rows[i].len);
        if (out->len != rows[i].written_len || memcmp(out->bytes, rows[i].written, out->len) != 0)
            fail_msg("row %zu: %s", i, out->bytes);
        guarded_free(&g);
    }
}

TEST(writer_stops_at_the_cap)
{
    struct strbuf out;
    for (size_t limit = 1; limit <= 24; limit++) {
        strbuf_init(&out, limit);
        sexp_write_open(&out);
        sexp_write_string(&out, "a\"\xff", 3);
        sexp_write_integer(&out, -7);
        sexp_write_symbol(&out, "key");
        sexp_write_boolean(&out, false);
        sexp_write_close(&out);
        assert_int_equal(out.is_overflown, limit < 22);
        assert_true(out.len <= limit);
        strbuf_fini(&out);
    }
}
