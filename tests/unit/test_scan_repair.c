/*
 * Repairs: which are certain and what they make, which are only likely, and which are none. That only `)`
 * changes is checked for each.
 */
#include "../cases.h"
#include <stdbool.h>
#include <string.h>

#include "guarded.h"
#include "scan/scan_repair.h"

/* The text without its `)`. */
static void strip(struct strbuf *out, const char *text, size_t len)
{
    strbuf_init(out, 0);
    for (size_t i = 0; i < len; i++)
        if (text[i] != ')')
            strbuf_addc(out, text[i]);
}

static void assert_only_parens_differ(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct strbuf one, other;
    strip(&one, a, a_len);
    strip(&other, b, b_len);
    assert_int_equal(one.len, other.len);
    assert_memory_equal(strbuf_string(&one), strbuf_string(&other), one.len);
    strbuf_fini(&one);
    strbuf_fini(&other);
}

TEST(certain_repairs_are_made)
{
    static const struct {
        const char *text, *repaired;
        size_t line; /* of the first edit */
    } rows[] = {
        /* one too few, at the end of a form with another behind it, at the end of the text, on a line within
         */
        {"(defun a ()\n  (b)\n\n(defun c ()\n  d)\n", "(defun a ()\n  (b))\n\n(defun c ()\n  d)\n", 2},
        {"(defun a ()\n  (let ((x 1))\n    (b x)\n    (c x))\n",
         "(defun a ()\n  (let ((x 1))\n    (b x)\n    (c x)))\n", 4},
        {"(defun a (x)\n  (when x\n    (b x)\n  (c x)\n  (d))\n",
         "(defun a (x)\n  (when x\n    (b x))\n  (c x)\n  (d))\n", 3},
        /* two too few */
        {"(defun a ()\n  (when b\n    (progn c)\n\n(defun d ())\n",
         "(defun a ()\n  (when b\n    (progn c)))\n\n(defun d ())\n", 3},
        /* one too many, at the end and within */
        {"(defun a ()\n  b))\n(defun c ())\n", "(defun a ()\n  b)\n(defun c ())\n", 2},
        {"(defun a (x)\n  (when x\n    (b x)))\n  (c x)\n  (d))\n",
         "(defun a (x)\n  (when x\n    (b x))\n  (c x)\n  (d))\n", 3},
        /* behind a comment at the end of the line, before a carriage return, behind bytes that are no UTF-8
         */
        {"(defun a ()\n  b ; c)\n\n(defun d ())\n", "(defun a ()\n  b) ; c)\n\n(defun d ())\n", 2},
        {"(defun a ()\r\n  b\r\n\r\n(defun d ())\r\n", "(defun a ()\r\n  b)\r\n\r\n(defun d ())\r\n", 2},
        {"(defun a ()\n  \"\xff\xfe\"\n\n(defun d ())\n", "(defun a ()\n  \"\xff\xfe\")\n\n(defun d ())\n",
         2},
        /* a form in a wrapper whose body is in column 1 */
        {"(progn\n(defun a ()\n  b))\n(defun c ()\n  d)\n)\n",
         "(progn\n(defun a ()\n  b)\n(defun c ()\n  d)\n)\n", 3},
        {"#+x\n(progn\n(defun a ()\n  b\n(defun c ()\n  d)\n)\n",
         "#+x\n(progn\n(defun a ()\n  b)\n(defun c ()\n  d)\n)\n", 4},
        /* the conditional before the next form is the next form's */
        {"(defun a ()\n  (b)\n\n#+sbcl\n(defun c ())\n", "(defun a ()\n  (b))\n\n#+sbcl\n(defun c ())\n", 2},
        /* two faults that cancel out: the whole scans */
        {"(defun a ()\n  (b)\n\n(defun c ()\n  d))\n", "(defun a ()\n  (b))\n\n(defun c ()\n  d)\n", 2},
        /* parentheses that are none */
        {"(defun a ()\n  (list #\\( \"(\" |(| #| ( |#)\n\n(defun c ())\n",
         "(defun a ()\n  (list #\\( \"(\" |(| #| ( |#))\n\n(defun c ())\n", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].text);
        struct guarded text = guarded_copy(rows[i].text, len);
        struct scan_repair repair;
        struct strbuf out;
        strbuf_init(&out, 0);
        scan_find_repair(text.bytes, len, &repair, &out);
        assert_string_equal(rows[i].repaired, strbuf_string(&out));
        assert_true(repair.is_certain);
        assert_int_equal(rows[i].line, repair.edits[0].at.line);
        assert_only_parens_differ(text.bytes, len, out.bytes, out.len);
        strbuf_fini(&out);
        guarded_free(&text);
    }
}

static void assert_not_repaired(const char *const texts[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct scan_repair repair;
        struct strbuf out;
        strbuf_init(&out, 0);
        scan_find_repair(texts[i], strlen(texts[i]), &repair, &out);
        assert_false(repair.is_certain);
        assert_int_equal(0, out.len);
        strbuf_fini(&out);
    }
}

TEST(a_place_that_is_one_of_several_is_only_likely)
{
    static const char *const texts[] = {
        "(defun a ()\n  (foo (bar x y)\n\n(defun c ())\n", /* behind x, behind y */
        "(defun a ()\n  (if (foo bar))\n\n(defun c ())\n",
        "(a (b) c))\n",
        "(defun a ()\n  #[b c]\n\n(defun d ())\n",        /* a reader macro */
        "(defun a ()\n  b)\n)\n",                         /* perhaps a wrapper's own, closed too early */
        "#+(or a b\n(defun c ()\n  d)\n\n(defun e ())\n", /* in a conditional */
        "#+(or a) b)\n(defun c ()\n  d)\n",
        "#+a\n(progn\n(defun b ()\n  c)\n(defun d ()\n  e)\n", /* where a wrapper ends */
    };
    assert_not_repaired(texts, sizeof texts / sizeof *texts);
}

TEST(damage_to_anything_but_parentheses_is_not_repaired)
{
    static const char *const texts[] = {
        "(defun a ()\n  \"b)\n\n(defun c ()\n  d)\n",     /* a quote is missing */
        "(defun a ()\n  b\")\n\n(defun c ()\n  \"d\")\n", /* a quote too many: strings and code exchanged */
        "(defun a ()\n  #| b)\n\n(defun c ()\n  d)\n",    /* a block comment never ends */
        "(defun a ()\n  |b)\n\n(defun c ()\n  d)\n",      /* a symbol never ends */
        "(defun a ()\n  (b \"\n(defun c ()\n\" d)\n", /* a string runs over a form, and one `)` is missing */
        "(defun a () #<b>)\n",
        "(defun a () b . . c)\n",
        "",
        "(a)",
        "\xef\xbb\xbf",
    };
    assert_not_repaired(texts, sizeof texts / sizeof *texts);
}

TEST(a_definition_within_another_is_found)
{
    static const struct {
        const char *text;
        bool is_swallowed;
    } rows[] = {
        {"(defun a ()\n  x\n(defun b ()))", true},
        {"(defun a ())\n(defun b ())", false},
        {"(progn\n(defun a ())\n(defun b ()))", false},
        {"(progn\n(defun a ()\n  x\n(defun b ())))", true},
        {"(defun a ()\n  (defun b ()))", false},
        {"(defun a ()\n  \"\n(defun b ())\")", false},
        /* what is not a definition is passed over */
        {"(defun a ()\n(print 1))\n", false},
        {"(defun a ()\n  x\n(print 1))\n", false},
        {"(defun a ()\n  x\n(print 1)\n(defun b ()))", true},
        {"(defpackage :foo\n(:use :cl)\n(:export #:a))\n(defun a ()\n  x\n(defun b ()))", true},
        {"(defparameter *table*\n'((1 2)\n(3 4)))", false},
        /* code without indentation */
        {"(define-suite s\n(deftest a (is 1))\n(deftest b (is 2)))", false},
        {"(define-suite s\n(deftest a\n  (is 1))\n(deftest b\n  (is 2)))", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan_result result;
        assert_int_equal(rows[i].is_swallowed,
                         scan_find_swallowed(rows[i].text, strlen(rows[i].text), &result));
    }
}

TEST(work_is_bounded)
{
    /* 200,000 lists that could each be closed anywhere, in one form. */
    size_t count = 200000, len = 0;
    char *text = malloc(count * 8);
    assert_non_null(text);
    text[len++] = '(';
    for (size_t i = 0; i < count; i++) {
        memcpy(text + len, "(a b)\n ", 7);
        len += 7;
    }
    struct scan_repair repair;
    scan_find_repair(text, len, &repair, NULL);
    assert_true(repair.edit_count <= SCAN_REPAIR_MOST_EDITS);
    memset(text, '(', len);
    scan_find_repair(text, len, &repair, NULL);
    assert_false(repair.is_certain);
    memset(text, ')', len);
    scan_find_repair(text, len, &repair, NULL);
    assert_false(repair.is_certain);
    free(text);
}
