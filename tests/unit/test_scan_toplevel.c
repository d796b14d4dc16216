/*
 * Finding top-level forms, and which of them is meant by a kind and a name.
 */
#include "../cases.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "guarded.h"
#include "scan/scan_toplevel.h"

static const char text[] =
    "\xef\xbb\xbf; (defun not-this ())\n"
    "(in-package #:shop)\n"
    "#+sbcl (defun price (x) \"(\" x)\n"
    "#-(or sbcl ccl) #+(and) (defun price (x) #\\( x)\n"
    "(defun (setf price) (new x) (list new x))\n"
    "(defstruct (item (:conc-name it-)) name)\n"
    "(eval-when (:load-toplevel) (progn (defvar *a* 1) (foo (defvar *b*))) (defvar |c D| 2))\n"
    "(defmethod area ((s circle) x &key (y 1)) 1)\n"
    "(defmethod area :around ((s shop::circle) (n (eql :x))) 2)\n"
    "(CL:DEFMETHOD Area (s) 3)\n"
    "(defmethod key ((c (eql #\\A))) 4)\n"
    "(defmethod key ((c (eql #\\Space))) 5)\n"
    "'(a b) `(c) symbol \"string\" (\"odd\" 1) ()\n"
    "(asdf:defsystem \"shop\")\n";

static void signatures(char *out, size_t cap)
{
    struct scan_toplevels forms;
    struct scan_toplevel form;
    struct strbuf all;
    struct guarded copy = guarded_copy(text, sizeof text - 1);
    strbuf_init(&all, 0);
    scan_toplevels_init(&forms, copy.bytes, sizeof text - 1);
    while (scan_toplevels_next(&forms, &form)) {
        assert_true(form.lead <= form.start && form.start < form.end && form.end < sizeof text);
        assert_int_equal('(', copy.bytes[form.start]);
        assert_int_equal(')', copy.bytes[form.end - 1]);
        scan_toplevel_signature(copy.bytes, &form, &all);
        strbuf_addc(&all, '\n');
    }
    snprintf(out, cap, "%s", strbuf_string(&all));
    strbuf_fini(&all);
    guarded_free(&copy);
}

TEST(every_form_is_found_in_order)
{
    char found[2000];
    signatures(found, sizeof found);
    assert_string_equal("(in-package shop)\n"
                        "(defun price)\n"
                        "(defun price)\n"
                        "(defun (setf price))\n"
                        "(defstruct (item (conc-name it-)))\n"
                        "(eval-when (load-toplevel))\n"
                        "(load-toplevel)\n" /* no form, but who asks for it */
                        "(progn (defvar *a* 1))\n"
                        "(defvar *a*)\n"
                        "(foo (defvar *b*))\n"
                        "(defvar |c D|)\n"
                        "(defmethod area ((s circle) x &key (y 1)))\n"
                        "(defmethod area around ((s circle) (n (eql x))))\n"
                        "(defmethod area (s))\n"
                        "(defmethod key ((c (eql #\\A))))\n"
                        "(defmethod key ((c (eql #\\space))))\n"
                        "(a b)\n"
                        "(c)\n"
                        "(odd 1)\n"
                        "()\n"
                        "(defsystem shop)\n",
                        found);
}

TEST(a_form_is_found_by_kind_and_name)
{
    static const struct {
        const char *kind, *name;
        size_t count;
    } rows[] = {
        {"defun", "price", 2},
        {"DEFUN", "shop::Price", 2},
        {"cl:defun", "price", 2},
        {"defun", "(setf price)", 1},
        {"defun", "(setf  shop:price )", 1},
        {"defun", "not-this", 0},
        {"defmacro", "price", 0},
        {"defun", "", 0},
        {"", "price", 0},
        {"in-package", "shop", 1},
        {"in-package", ":shop", 1},
        {"in-package", "\"shop\"", 1},
        {"defsystem", "shop", 1},
        {"defstruct", "item", 1},
        {"defstruct", "it", 0},
        {"defvar", "*a*", 1},
        {"defvar", "*b*", 0},
        {"defmethod", "area", 3},
        {"defmethod", "area ((s circle) x)", 1},
        {"defmethod", "area ((other circle) (y t))", 1},
        {"defmethod", "area :around", 1},
        {"defmethod", "area :around ((s circle) (n (eql :x)))", 1},
        {"defmethod", "area :around ((s circle) (n (eql :y)))", 0},
        {"defmethod", "area :before", 0},
        {"defmethod", "area (x)", 1},
        {"defmethod", "area ((x t))", 1},
        {"defmethod", "area ((s square))", 0},
        {"defmethod", "area ()", 0},
        {"defmethod", "key ((c (eql #\\A)))", 1},
        {"defmethod", "key ((c (eql #\\a)))", 0},
        {"defmethod", "key ((c (eql #\\SPACE)))", 1},
        {"defvar", "|c D|", 1},
        {"defvar", "shop::|c D|", 1},
        {"defvar", "|c d|", 0},
        {"defmethod", "area ((", 0},
        {"defmethod", "(", 0},
        {"defmethod", ")", 0},
        {"defmethod", "\"area", 0},
        {"#", "f", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan_toplevels forms;
        struct scan_toplevel form;
        struct guarded name = guarded_copy(rows[i].name, strlen(rows[i].name));
        struct guarded kind = guarded_copy(rows[i].kind, strlen(rows[i].kind));
        size_t count = 0;
        struct scan_wanted *wanted =
            scan_wanted_new(kind.bytes, strlen(rows[i].kind), name.bytes, strlen(rows[i].name));
        scan_toplevels_init(&forms, text, sizeof text - 1);
        while (scan_toplevels_next(&forms, &form))
            count += scan_toplevel_is(text, &form, wanted);
        scan_wanted_free(wanted);
        if (count != rows[i].count)
            print_message("# %s %s\n", rows[i].kind, rows[i].name);
        assert_int_equal(rows[i].count, count);
        guarded_free(&kind);
        guarded_free(&name);
    }
}

TEST(a_conditional_before_a_form_belongs_to_it)
{
    struct scan_toplevels forms;
    struct scan_toplevel form;
    scan_toplevels_init(&forms, text, sizeof text - 1);
    assert_true(scan_toplevels_next(&forms, &form));
    assert_int_equal(form.start, form.lead);
    assert_true(scan_toplevels_next(&forms, &form));
    assert_memory_equal("#+sbcl", text + form.lead, 6);
    assert_true(scan_toplevels_next(&forms, &form));
    assert_memory_equal("#-(or", text + form.lead, 5);
    assert_true(scan_toplevels_next(&forms, &form));
    assert_int_equal(form.start, form.lead);
}

TEST(work_is_bounded_at_any_nesting)
{
    static const char inner[] = "(progn ";
    enum { DEPTH = 200000, LEN = DEPTH * (sizeof inner) };
    char *nested = malloc(LEN);
    assert_non_null(nested);
    for (size_t i = 0; i < DEPTH; i++)
        memcpy(nested + i * (sizeof inner - 1), inner, sizeof inner - 1);
    memset(nested + DEPTH * (sizeof inner - 1), ')', DEPTH);
    struct scan_toplevels forms;
    struct scan_toplevel form;
    size_t count = 0;
    /* Quadratic work would take the better part of an hour. */
    scan_toplevels_init(&forms, nested, LEN);
    while (scan_toplevels_next(&forms, &form))
        count++;
    assert_true(count >= 32 && count < 100);
    free(nested);
}

TEST(a_name_that_is_too_long_matches_nothing)
{
    static char name[1002];
    struct scan_toplevels forms;
    struct scan_toplevel form;
    memset(name, ' ', sizeof name);
    memcpy(name, "shop", 4);
    struct scan_wanted *longest = scan_wanted_new("in-package", 10, name, 1000),
                       *too_long = scan_wanted_new("in-package", 10, name, 1001),
                       *any_kind = scan_wanted_new(NULL, 0, "shop", 4),
                       *no_kind = scan_wanted_new("", 0, "shop", 4);
    scan_toplevels_init(&forms, text, sizeof text - 1);
    assert_true(scan_toplevels_next(&forms, &form));
    assert_true(scan_toplevel_is(text, &form, longest));
    assert_false(scan_toplevel_is(text, &form, too_long));
    assert_true(scan_toplevel_is(text, &form, any_kind));
    assert_false(scan_toplevel_is(text, &form, no_kind));
    scan_wanted_free(longest);
    scan_wanted_free(too_long);
    scan_wanted_free(any_kind);
    scan_wanted_free(no_kind);
}
