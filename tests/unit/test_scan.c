/*
 * The scanner on small texts: what is valid, which fault is found where, which form is named, and what is
 * said.
 */
#include <stdio.h>
#include <string.h>

#include "guarded.h"
#include "base/strbuf.h"
#include "scan/scan.h"
#include "strbuf_test.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

struct valid_row {
    const char *text;
    size_t len;
    size_t forms;
};

static const struct valid_row valid_rows[] = {
    {BYTES(""), 0},
    {BYTES(" \t\r\n\f"), 0},
    {BYTES("a"), 1},
    {BYTES("a b c"), 3},
    {BYTES("()"), 1},
    {BYTES("(a (b) ((c)))d(e)"), 3},
    {BYTES("; ( \" #|\n a"), 1},
    {BYTES("a ; no newline ("), 1},
    {BYTES("\"a ) \\\" ( b\""), 1},
    {BYTES("\"a\\\\\" b"), 2},
    {BYTES("#| ( #| \" |# ; |# a"), 1},
    {BYTES("#||# a #|#|# b |# |# c"), 2},
    {BYTES("(#\\( #\\) #\\\" #\\; #\\| #\\Space #\\\\ #\\')"), 1},
    {BYTES("(char= #\\a)"), 1},
    {BYTES("(|a ) b| a\\)b \\( a|(|b)"), 1},
    {BYTES("|a \\| (|"), 1},
    {BYTES("a;b\nc"), 2},
    {BYTES("a#|b|#"), 1}, /* within a symbol # is a letter and | begins a name */
    {BYTES("a\"b\"c"), 3},
    {BYTES("'a"), 1},
    {BYTES("' ; why\n a"), 1},
    {BYTES("''`a"), 1},
    {BYTES("`(a ,b ,@c ,.d)"), 1},
    {BYTES("`(a `(b ,(c ,d)))"), 1},
    {BYTES("`#(a ,b)"), 1},
    {BYTES("`(a . ,b)"), 1},
    {BYTES("#'car #'(lambda ())"), 2},
    {BYTES("#(1 2) #3(1 2)"), 2},
    {BYTES("#2A((1 2) (3 4)) #0A x"), 2},
    {BYTES("#S(point :x 1) #P\"a(b\" #p\"c\""), 3},
    {BYTES("#.(foo) #C(1 2)"), 2},
    {BYTES("#:foo #:|a )| #: "), 3},
    {BYTES("#*1010 #* #xFF #b1 #o7 #36rZZ #x FF"), 7},
    {BYTES("#1=(a . #1#)"), 1},
    {BYTES("#+sbcl a"), 1},
    {BYTES("#+(or a (and b)) (c) d"), 2},
    {BYTES("(a #+x b #-x c)"), 1},
    {BYTES("#+a #-b c"), 1},
    {BYTES("(a . #+x b #-x c)"), 1},
    {BYTES("#+nil (a ... ,b . c d)"), 1},
    {BYTES("(a . b)"), 1},
    {BYTES("(a . b #+nil c)"), 1},
    {BYTES("(a .b b. a.b 1.5 .5 1.)"), 1},
    {BYTES("(a . #|x|# b ; y\n)"), 1},
    {BYTES("(a . ()) (a . 'b)"), 2},
    {BYTES("(a \\. b |.|)"), 1},
    {BYTES("#[a b] (c #?\"x(\" d) #!+sb-thread e"), 5},
    {BYTES("#!/usr/bin/sbcl --script (\n(a)"), 1},
    {BYTES("#!no newline ("), 0},
    {BYTES("\xef\xbb\xbf(a)"), 1},
    {BYTES("(a\0b) \0"), 2},
    {BYTES("(\xff\xfe \xc3) \xc3\xa9"), 2},
};

TEST(valid_text_is_counted)
{
    for (size_t i = 0; i < sizeof(valid_rows) / sizeof(valid_rows[0]); i++) {
        struct guarded text = guarded_copy(valid_rows[i].text, valid_rows[i].len);
        struct scan_result result = scan_text(text.bytes, valid_rows[i].len);
        if (result.fault != SCAN_VALID || result.forms != valid_rows[i].forms)
            fail_msg("%s: fault %d, %zu forms", valid_rows[i].text, (int)result.fault, result.forms);
        assert_int_equal(result.at.line, 0);
        assert_int_equal(result.form.start.line, 0);
        guarded_free(&text);
    }
}

struct fault_row {
    const char *text;
    size_t len;
    enum scan_fault fault;
    size_t line, column; /* of the fault */
    size_t form_line;    /* 0: none is named */
    const char *head;
};

static const struct fault_row fault_rows[] = {
    {BYTES(")"), SCAN_UNMATCHED_CLOSE, 1, 1, 0, ""},
    {BYTES("(a))"), SCAN_UNMATCHED_CLOSE, 1, 4, 1, "(a)"},
    {BYTES("(a)\n\n(b))\n(c)"), SCAN_UNMATCHED_CLOSE, 3, 4, 3, "(b)"},
    {BYTES("(a)\n  (b))"), SCAN_UNMATCHED_CLOSE, 2, 6, 1, "(a)"},
    {BYTES("  (a)\n  (b))"), SCAN_UNMATCHED_CLOSE, 2, 6, 2, "(b)"},
    {BYTES("   (a) (b))"), SCAN_UNMATCHED_CLOSE, 1, 11, 1, "(a)"},
    {BYTES("a)"), SCAN_UNMATCHED_CLOSE, 1, 2, 1, "a"},
    {BYTES("(a)\ndefun foo (x)\n  x)"), SCAN_UNMATCHED_CLOSE, 3, 4, 2, "defun foo"},
    {BYTES("(defun foo (x))\n  (bar x)\n  \"s\" 1)"), SCAN_UNMATCHED_CLOSE, 3, 8, 1, "(defun foo …)"},
    {BYTES("(defun foo ())\n\"In column 1.\"\n 1)"), SCAN_UNMATCHED_CLOSE, 3, 3, 1, "(defun foo …)"},
    {BYTES("(progn\n(a b))\n(c))\n(d e)\n)"), SCAN_UNMATCHED_CLOSE, 3, 4, 3, "(c)"},
    {BYTES("(progn\n(a b))\n(d e)\n)"), SCAN_UNMATCHED_CLOSE, 4, 1, 1, "(progn (a b))"},
    {BYTES("(progn\n(a b)\n)\n(d\n e))\n)"), SCAN_UNMATCHED_CLOSE, 5, 4, 4, "(d e)"},
    {BYTES("(progn\n(a b)\n)\n(d\n e)\n)"), SCAN_UNMATCHED_CLOSE, 6, 1, 4, "(d e)"},
    {BYTES("(progn\n(a)\n)(b)\n(d)\n) ; progn\n"), SCAN_UNMATCHED_CLOSE, 5, 1, 1, "(progn (a))"},
    {BYTES("(progn\n(a))\n(d) e\n)"), SCAN_UNMATCHED_CLOSE, 4, 1, 3, "(d)"},
    {BYTES("(Eval-When (x))\n(a)\n)\n"), SCAN_UNMATCHED_CLOSE, 3, 1, 1, "(Eval-When (x))"},
    {BYTES("(eval-when (x) b)\n(a)\n)\n"), SCAN_UNMATCHED_CLOSE, 3, 1, 2, "(a)"},
    {BYTES("#+(or a b)\n(progn)\n(a)\n)\n"), SCAN_UNMATCHED_CLOSE, 4, 1, 1, "#+(or a b) (progn)"},
    {BYTES("("), SCAN_UNCLOSED_LIST, 1, 2, 1, "("},
    {BYTES("(a)\n(b (c)\n"), SCAN_UNCLOSED_LIST, 3, 1, 2, "(b (c)"},
    {BYTES("#("), SCAN_UNCLOSED_LIST, 1, 3, 1, "#("},
    {BYTES("#+x\n(defun foo ()\n"), SCAN_UNCLOSED_LIST, 3, 1, 1, "#+x (defun foo …)"},
    {BYTES("\"abc"), SCAN_UNCLOSED_STRING, 1, 1, 1, "\"abc"},
    {BYTES("(a \"abc\\\")"), SCAN_UNCLOSED_STRING, 1, 4, 1, "(a \"abc\\\")"},
    {BYTES("(a \"abc\\"), SCAN_UNCLOSED_STRING, 1, 4, 1, "(a \"abc\\"},
    {BYTES("(a)\n#| #| |#"), SCAN_UNCLOSED_COMMENT, 2, 1, 0, ""},
    {BYTES("(a #|"), SCAN_UNCLOSED_COMMENT, 1, 4, 1, "(a #|"},
    {BYTES("#|#"), SCAN_UNCLOSED_COMMENT, 1, 1, 0, ""},
    {BYTES("(foo a|b)"), SCAN_UNCLOSED_BAR, 1, 7, 1, "(foo |b)"},
    {BYTES("a\\"), SCAN_UNCLOSED_ESCAPE, 1, 2, 1, "\\"},
    {BYTES("#\\"), SCAN_UNCLOSED_ESCAPE, 1, 1, 1, "#\\"},
    {BYTES("'"), SCAN_DANGLING_PREFIX, 1, 1, 1, "'"},
    {BYTES("(a)\n#' ; x\n"), SCAN_DANGLING_PREFIX, 2, 1, 2, "#'"},
    {BYTES("(a ')"), SCAN_DANGLING_PREFIX, 1, 4, 1, "(a ')"},
    {BYTES("`(a ,)"), SCAN_DANGLING_PREFIX, 1, 5, 1, "`(a ,)"},
    {BYTES("(a #+x)"), SCAN_DANGLING_PREFIX, 1, 4, 1, "(a #+x)"},
    {BYTES("#+x"), SCAN_DANGLING_PREFIX, 1, 1, 1, "#+x"},
    {BYTES("#+(a b)\n"), SCAN_DANGLING_PREFIX, 1, 1, 1, "#+(a b)"},
    {BYTES("."), SCAN_STRAY_DOT, 1, 1, 1, "."},
    {BYTES("(. a)"), SCAN_STRAY_DOT, 1, 2, 1, "(. a)"},
    {BYTES("(a .)"), SCAN_STRAY_DOT, 1, 4, 1, "(a .)"},
    {BYTES("(a . . b)"), SCAN_STRAY_DOT, 1, 6, 1, "(a . . b)"},
    {BYTES("(a . b 'c)"), SCAN_STRAY_DOT, 1, 8, 1, "(a . b …)"},
    {BYTES("(a '. b)"), SCAN_STRAY_DOT, 1, 5, 1, "(a '. b)"},
    {BYTES("#+x a\n."), SCAN_STRAY_DOT, 2, 1, 2, "."},
    {BYTES("(a ...)"), SCAN_TOO_MANY_DOTS, 1, 4, 1, "(a ...)"},
    {BYTES("(a ,b)"), SCAN_STRAY_COMMA, 1, 4, 1, "(a ,b)"},
    {BYTES("`(a ,,b)"), SCAN_STRAY_COMMA, 1, 6, 1, "`(a ,,b)"},
    {BYTES("`(a) ,b"), SCAN_STRAY_COMMA, 1, 6, 1, "`(a)"},
    {BYTES("`a\n,b"), SCAN_STRAY_COMMA, 2, 1, 2, ",b"},
    {BYTES("(a #<FOO>)"), SCAN_UNREADABLE, 1, 4, 1, "(a #<FOO>)"},
    {BYTES("(a # b)"), SCAN_STRAY_SHARP, 1, 4, 1, "(a # b)"},
    {BYTES("(a #)"), SCAN_STRAY_SHARP, 1, 4, 1, "(a #)"},
    {BYTES("(a #12"), SCAN_STRAY_SHARP, 1, 4, 1, "(a #12"},
    {BYTES("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\")"), SCAN_UNMATCHED_CLOSE, 1, 6, 1,
     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {BYTES("\"\xff\xc3\xe2\x82\")"), SCAN_UNMATCHED_CLOSE, 1, 7, 1, "\"?\?\?\?\""},
    {BYTES("\"\xc1\x81\")"), SCAN_UNMATCHED_CLOSE, 1, 5, 1, "\"?\?\""},
    {BYTES("(\xe2\x82"), SCAN_UNCLOSED_LIST, 1, 4, 1, "(?\?"},
    {BYTES("(a\r\n b))"), SCAN_UNMATCHED_CLOSE, 2, 4, 1, "(a b)"},
    {BYTES("(a\0))"), SCAN_UNMATCHED_CLOSE, 1, 5, 1, "(a?)"},
};

TEST(each_fault_is_found_where_it_is)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]); i++) {
        const struct fault_row *row = &fault_rows[i];
        struct guarded text = guarded_copy(row->text, row->len);
        struct scan_result result = scan_text(text.bytes, row->len);
        if (result.fault != row->fault || result.at.line != row->line || result.at.column != row->column ||
            result.form.start.line != row->form_line || strcmp(result.form.head, row->head) != 0) {
            print_error("# %s: fault %d at %zu:%zu in %s from line %zu\n", row->text, (int)result.fault,
                        result.at.line, result.at.column, result.form.head, result.form.start.line);
            failures++;
        }
        guarded_free(&text);
    }
    assert_int_equal(failures, 0);
}

static const char three_definitions[] = "(in-package :x)\n"
                                        "\n"
                                        "(defun foo (x)\n"
                                        "  (let ((y 1))\n"
                                        "    (+ x y))\n"
                                        "\n"
                                        "(defun bar ()\n"
                                        "  2)\n"
                                        "\n"
                                        "(defun baz ())\n";

/* What a diagnosis names, and where. */
static void describe(const struct scan_result *r, struct strbuf *out)
{
    const struct {
        const char *name;
        size_t line, column;
        const char *head;
    } parts[] = {
        {"at", r->at.line, r->at.column, ""},
        {"form", r->form.start.line, 0, r->form.head},
        {"to", r->form.end.line, r->form.end.column, ""},
        {"previous", r->previous.start.line, 0, r->previous.head},
        {"inner", r->inner.start.line, 0, r->inner.head},
        {"restart", r->restart.start.line, 0, r->restart.head},
        {"innermost", r->innermost.line, r->innermost.column, ""},
        {"suspect", r->suspect.line, r->suspect.column, ""},
        {"runaway", r->runaway.line, r->runaway.column, ""},
        {"up to", r->runaway_line.line, 0, ""},
    };
    strbuf_addf(out, "%zu forms, depth %zu", r->forms, r->depth);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].line == 0)
            continue;
        strbuf_addf(out, ", %s %zu", parts[i].name, parts[i].line);
        if (parts[i].column > 0)
            strbuf_addf(out, ":%zu", parts[i].column);
        if (parts[i].head[0] != '\0')
            strbuf_addf(out, " %s", parts[i].head);
    }
}

struct diagnosis_row {
    const char *what, *text;
    enum scan_fault fault;
    const char *diagnosis;
};

static const struct diagnosis_row diagnosis_rows[] = {
    {"an open form is named with the form that should not be in it", three_definitions, SCAN_UNCLOSED_LIST,
     "1 forms, depth 1, at 11:1, form 3 (defun foo …), restart 7 (defun bar …), innermost 3:1, suspect 5:12"},
    {"the list whose parenthesis is missing is seen by the indentation",
     "(defun foo (x)\n"
     "  (when (a x)\n"
     "    (b x)\n"
     "  (c x))\n",
     SCAN_UNCLOSED_LIST, "0 forms, depth 1, at 5:1, form 1 (defun foo …), innermost 1:1, suspect 3:9"},
    {"a conditional in column one is no sign of a missing parenthesis",
     "(defun foo ()\n"
     "  (a)\n"
     "#+x (b)\n"
     "  (c)\n"
     "(defun bar ())\n",
     SCAN_UNCLOSED_LIST,
     "0 forms, depth 1, at 6:1, form 1 (defun foo …), restart 5 (defun bar …), innermost 1:1, suspect 4:5"},
    {"the innermost parenthesis is the one at the restart", "(a\n  (b\n(defun c ()\n", SCAN_UNCLOSED_LIST,
     "0 forms, depth 3, at 4:1, form 1 (a (b (defun c (), restart 3 (defun c …), innermost 2:3, suspect 2:4"},
    {"an open form at the end has no restart", "(a)\n(defun foo (x)\n  (bar\n", SCAN_UNCLOSED_LIST,
     "1 forms, depth 2, at 4:1, form 2 (defun foo …), innermost 3:3"},
    {"a wrapper may have its body in column one", "(eval-when (:execute)\n(defun a ())\n(defun b ())\n)\n",
     SCAN_VALID, "1 forms, depth 0"},
    {"a conditional wrapper too", "#+x (progn\n(a)\n(b))", SCAN_VALID, "1 forms, depth 0"},
    {"within a wrapper the definition left open is named too",
     "(eval-when (:execute)\n"
     "(defvar *a* 1)\n"
     "(defun foo ()\n"
     "   (a)\n"
     "(defun bar () 2)\n"
     ")\n"
     "(defun baz ())\n",
     SCAN_UNCLOSED_LIST,
     "0 forms, depth 1, at 8:1, form 1 (eval-when (:execute) …), inner 3 (defun foo …), restart 5 (defun bar "
     "…), innermost 3:1, suspect 4:6"},
    {"column one in strings and comments starts nothing", "(a \"\n(b\" #|\n(c |#\n; x\n(d e",
     SCAN_UNCLOSED_LIST,
     "0 forms, depth 2, at 5:5, form 1 (a \" (b\" …), restart 5 (d e, innermost 1:1, suspect 2:3"},
    {"a form that closed too early is named with its end",
     "(defun foo (x)\n"
     "  (let ((y 1)))\n"
     "    (+ x y)))\n"
     "(defun bar ())\n",
     SCAN_UNMATCHED_CLOSE,
     "1 forms, depth 0, at 3:13, form 1 (defun foo …), to 3:12, previous 1 (defun foo …), suspect 2:15"},
    {"lists in one column do not suggest a parenthesis too many", "(defun foo ()\n  (a)\n  (b))\n  (c))\n",
     SCAN_UNMATCHED_CLOSE,
     "2 forms, depth 0, at 4:6, form 1 (defun foo …), to 3:6, previous 4 (c), suspect 3:6"},
    {"the last datum before an extra parenthesis is reported", "(+ 1 2) (foo 3))", SCAN_UNMATCHED_CLOSE,
     "2 forms, depth 0, at 1:16, form 1 (+ 1 …), to 1:7, previous 1 (foo 3)"},
    {"a string that runs over a form is suspected",
     "(defun foo ()\n  \"doc\n  1)\n(defun bar () \"a, b\" 2)\n", SCAN_STRAY_COMMA,
     "0 forms, depth 1, at 4:17, form 1 (defun foo …), runaway 2:3, up to 4"},
};

STRBUF_TEST(out, each_diagnosis_names_the_forms_and_places)
{
    for (size_t i = 0; i < sizeof(diagnosis_rows) / sizeof(diagnosis_rows[0]); i++) {
        const struct diagnosis_row *row = &diagnosis_rows[i];
        struct scan_result result = scan_text(row->text, strlen(row->text));
        strbuf_clear(out);
        describe(&result, out);
        if (result.fault != row->fault || strcmp(strbuf_string(out), row->diagnosis) != 0)
            fail_msg("%s: fault %d, %s", row->what, (int)result.fault, strbuf_string(out));
    }
}

/* ${count} copies of ${piece}. */
static char *repeat(const char *piece, size_t count)
{
    size_t len = strlen(piece);
    char *text = malloc(len * count + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, piece, len);
    text[len * count] = '\0';
    return text;
}

TEST(a_million_open_lists_are_counted_and_the_innermost_is_known)
{
    enum { DEPTH = 1000000 };
    char *text = repeat("(", 2 * DEPTH);
    struct scan_result result = scan_text(text, DEPTH);
    assert_int_equal(result.fault, SCAN_UNCLOSED_LIST);
    assert_int_equal(result.depth, DEPTH);
    assert_int_equal(result.innermost.column, DEPTH);
    memset(text + DEPTH, ')', DEPTH);
    assert_int_equal(scan_text(text, 2 * DEPTH).fault, SCAN_VALID);
    result = scan_text(text, 2 * DEPTH - DEPTH / 2);
    assert_int_equal(result.depth, DEPTH / 2);
    assert_int_equal(result.innermost.column, DEPTH / 2);
    struct scan_match match = scan_match_paren(text, 2 * DEPTH, 1, DEPTH + 10);
    assert_int_equal(match.status, SCAN_MATCH_FOUND);
    assert_int_equal(match.partner.column, DEPTH - 9);
    free(text);
}

TEST(beyond_the_tracked_depth_nothing_good_is_called_bad)
{
    enum { DEPTH = SCAN_TRACKED_DEPTH + 100 };
    char *open = repeat("`(a ,@'(b . ", DEPTH);
    char *close = repeat("c) d)", DEPTH);
    char *text = malloc(strlen(open) + strlen(close) + 1);
    assert_non_null(text);
    size_t len = (size_t)sprintf(text, "%s%s", open, close);
    /* Within the tracked depth the second datum behind the dot is a fault; there is none here. */
    for (char *at = strstr(text, "c) d)"); at; at = strstr(at + 5, "c) d)"))
        memcpy(at, ")  ) ", 5);
    for (char *at = strstr(text, " . "); at; at = strstr(at + 3, " . "))
        memcpy(at, " x ", 3);
    assert_int_equal(scan_text(text, len).fault, SCAN_VALID);
    assert_int_equal(scan_text(text, len).forms, 1);
    text[len - 2] = ' ';
    assert_int_equal(scan_text(text, len).fault, SCAN_UNCLOSED_LIST);
    assert_int_equal(scan_text(text, len).innermost.column, 2);
    free(open);
    free(close);
    free(text);
}

TEST(explanation_of_valid_text_is_one_line)
{
    struct scan_result result = scan_text(BYTES("(a) b"));
    struct strbuf out = {0};
    scan_explain(&result, BYTES("(a) b"), &out);
    assert_string_equal(strbuf_string(&out), "✓ Syntax valid: 2 top-level form(s)");
    strbuf_fini(&out);
}

TEST(explanation_shows_the_place_and_the_form)
{
    struct scan_result result = scan_text(BYTES(three_definitions));
    struct strbuf out = {0};
    scan_explain(&result, BYTES(three_definitions), &out);
    assert_string_equal(
        strbuf_string(&out),
        "✗ Syntax invalid: a list is never closed; at the end of the text 1 `)` is missing\n"
        "\n"
        "Open form: (defun foo …), from line 3.\n"
        "The form at line 3, (defun foo …), is still open where a new top-level form seems to start at "
        "line 7:\n"
        "     7 | (defun bar ()\n"
        "       | ^\n"
        "Innermost open parenthesis there: line 3, column 1:\n"
        "     3 | (defun foo (x)\n"
        "       | ^\n"
        "By the indentation, `)` is probably missing after line 5, column 12:\n"
        "     5 |     (+ x y))\n"
        "       |            ^");
    strbuf_fini(&out);
}

TEST(explanation_puts_the_caret_under_the_character)
{
    const char text[] = "(a)\n\"\xc3\xa9\xe2\x82\xac\"\t\x01\xff)\n";
    struct scan_result result = scan_text(text, sizeof(text) - 1);
    struct strbuf out = {0};
    scan_explain(&result, text, sizeof(text) - 1, &out);
    assert_non_null(strstr(out.bytes, "\nLine 2, column 8:\n"
                                      "     2 | \"\xc3\xa9\xe2\x82\xac\" ?\?)\n"
                                      "       |        ^\n"));
    strbuf_fini(&out);
}

TEST(explanation_shows_a_window_of_a_long_line)
{
    char *text = repeat("(abcdefg) ", 1000);
    struct strbuf out = {0};
    text[5009] = ')';
    struct scan_result result = scan_text(text, strlen(text));
    assert_int_equal(result.at.column, 5010);
    scan_explain(&result, text, strlen(text), &out);
    assert_true(out.len < 700);
    assert_non_null(strstr(out.bytes, "\n       |                                                    ^\n"));
    free(text);
    strbuf_fini(&out);
}

struct match_row {
    const char *text;
    size_t line, column;
    enum scan_match_status status;
    size_t partner_line, partner_column;
    size_t nearest_column;
};

static const struct match_row match_rows[] = {
    {"(a (b) c)", 1, 1, SCAN_MATCH_FOUND, 1, 9, 0},
    {"(a (b) c)", 1, 9, SCAN_MATCH_FOUND, 1, 1, 0},
    {"(a (b) c)", 1, 4, SCAN_MATCH_FOUND, 1, 6, 0},
    {"(a (b) c)", 1, 6, SCAN_MATCH_FOUND, 1, 4, 0},
    {"(a\n \")\" #\\) ; )\n #|)|# b\n)", 1, 1, SCAN_MATCH_FOUND, 4, 1, 0},
    {"(a\n \")\" #\\) ; )\n #|)|# b\n)", 4, 1, SCAN_MATCH_FOUND, 1, 1, 0},
    {"#(1 #2(2))", 1, 2, SCAN_MATCH_FOUND, 1, 10, 0},
    {"#(1 #2(2))", 1, 7, SCAN_MATCH_FOUND, 1, 9, 0},
    {"(a \xc3\xa9 (b))", 1, 6, SCAN_MATCH_FOUND, 1, 8, 0},
    {") (a)", 1, 3, SCAN_MATCH_FOUND, 1, 5, 0},
    {") (a)", 1, 5, SCAN_MATCH_FOUND, 1, 3, 0},
    {") (a)", 1, 1, SCAN_MATCH_UNMATCHED, 0, 0, 0},
    {"(a (b)", 1, 1, SCAN_MATCH_UNMATCHED, 0, 0, 0},
    {"(a \"(\")", 1, 5, SCAN_MATCH_IN_TEXT, 0, 0, 7},
    {"(a #\\()", 1, 6, SCAN_MATCH_IN_TEXT, 0, 0, 7},
    {"a |(|", 1, 4, SCAN_MATCH_IN_TEXT, 0, 0, 0},
    {"abc (d)", 1, 2, SCAN_MATCH_NO_PAREN, 0, 0, 5},
    {"#(1)", 1, 1, SCAN_MATCH_NO_PAREN, 0, 0, 2},
    {"(a)\n(b)", 1, 4, SCAN_MATCH_NO_PAREN, 0, 0, 3},
    {"(a)\n(b)", 1, 99, SCAN_MATCH_NO_PAREN, 0, 0, 3},
    {"(a)\n(b)", 3, 1, SCAN_MATCH_NO_PAREN, 0, 0, 0},
    {"(a)", 0, 1, SCAN_MATCH_NO_PAREN, 0, 0, 0},
    {"(a)", 1, 0, SCAN_MATCH_NO_PAREN, 0, 0, 0},
    {"(a)", 1, SIZE_MAX, SCAN_MATCH_NO_PAREN, 0, 0, 3},
    {"(a)", SIZE_MAX, 1, SCAN_MATCH_NO_PAREN, 0, 0, 0},
    {"", 1, 1, SCAN_MATCH_NO_PAREN, 0, 0, 0},
};

TEST(each_parenthesis_has_its_partner)
{
    for (size_t i = 0; i < sizeof(match_rows) / sizeof(match_rows[0]); i++) {
        const struct match_row *row = &match_rows[i];
        struct guarded text = guarded_copy(row->text, strlen(row->text));
        struct scan_match match = scan_match_paren(text.bytes, strlen(row->text), row->line, row->column);
        if (match.status != row->status || match.partner.line != row->partner_line ||
            match.partner.column != row->partner_column || match.nearest.column != row->nearest_column)
            fail_msg("%s at %zu:%zu: status %d, partner %zu:%zu, nearest %zu", row->text, row->line,
                     row->column, (int)match.status, match.partner.line, match.partner.column,
                     match.nearest.column);
        guarded_free(&text);
    }
}

TEST(match_explanation_shows_the_partner)
{
    const char text[] = "(a\n b)";
    struct scan_match match = scan_match_paren(text, sizeof(text) - 1, 1, 1);
    struct strbuf out = {0};
    scan_match_explain(&match, 1, 1, text, sizeof(text) - 1, &out);
    assert_string_equal(strbuf_string(&out), "`(` at line 1, column 1 matches `)` at line 2, column 3:\n"
                                             "     2 |  b)\n"
                                             "       |   ^");
    match = scan_match_paren(text, sizeof(text) - 1, 2, 1);
    strbuf_clear(&out);
    scan_match_explain(&match, 2, 1, text, sizeof(text) - 1, &out);
    assert_string_equal(strbuf_string(&out), "There is no parenthesis at line 2, column 1.\n"
                                             "The nearest one on that line is at column 3:\n"
                                             "     2 |  b)\n"
                                             "       |   ^");
    strbuf_fini(&out);
}
