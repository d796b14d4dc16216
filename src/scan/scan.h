/*
 * Looks at Common Lisp text without running or reading it: does every form close, and if not, where is the
 * fault and which top-level form is it in. Standard syntax only; reader macros a text defines for itself are
 * passed over as well as can be (`#[`, `#?` and the like are no fault). No input or output, no allocation, no
 * recursion, no globals; time is linear in the text; nothing kept points into the text.
 *
 * Memory is bounded whatever the nesting: about 48 KiB of stack. Positions and counts are exact at any depth
 * (they come from going over the text a second time, not from a stack). Deeper than SCAN_TRACKED_DEPTH open
 * lists, parentheses, strings, comments and bars are still checked; dots, commas and prefixes without a datum
 * are not, and no `suspect` is offered.
 *
 * Text behind #+ and #- is checked like any other, but dots and commas in it are not, since it may be
 * skipped.
 */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include <stddef.h>

enum {
    SCAN_TRACKED_DEPTH = 1024,
    SCAN_HEAD_SIZE = 80,     /* bytes of scan_form.head with its NUL */
    SCAN_EXPLAIN_SIZE = 4096 /* what scan_explain and scan_match_explain write always fits, with its NUL */
};

enum scan_fault {
    SCAN_VALID,
    SCAN_UNMATCHED_CLOSE,  /* at: the parenthesis that closes nothing */
    SCAN_UNCLOSED_LIST,    /* at: the end of the text */
    SCAN_UNCLOSED_STRING,  /* at: its opening quote */
    SCAN_UNCLOSED_COMMENT, /* at: its #| */
    SCAN_UNCLOSED_BAR,     /* at: the | */
    SCAN_UNCLOSED_ESCAPE,  /* at: the \ (or #\) that is the last byte */
    SCAN_DANGLING_PREFIX,  /* at: the quote, comma, #+ ... that no datum follows before `)` or the end */
    SCAN_STRAY_DOT,        /* at: the dot, or the second datum after it */
    SCAN_TOO_MANY_DOTS,    /* at: the token that is nothing but dots */
    SCAN_STRAY_COMMA,      /* at: the comma that no backquote governs */
    SCAN_UNREADABLE,       /* at: the #<, as in a pasted #<FUNCTION ...> */
    SCAN_STRAY_SHARP,      /* at: the # before white space, `)` or the end */
};

/* A place in the text. Lines and columns count from 1, columns in characters; line 0 means nowhere. */
struct scan_place {
    size_t offset;
    size_t line;
    size_t column;
};

struct scan_form {
    struct scan_place start;
    struct scan_place end;     /* its last byte; line 0: still open at the fault */
    char head[SCAN_HEAD_SIZE]; /* its first tokens on one line, as `(defun foo …)`; always good UTF-8 */
};

struct scan_result {
    enum scan_fault fault;
    size_t forms;         /* complete top-level forms; with a fault: those before it */
    struct scan_place at; /* the fault, see enum scan_fault */
    size_t depth;         /* lists open at ${at} */

    /*
     * The top-level form the fault is in: the one that is open, or, when a form has closed too early and its
     * rest looks like top-level data, that form (what starts in column 1 starts a form). Nowhere when there
     * is none.
     */
    struct scan_form form;

    /* The top-level datum that ended last before an unmatched parenthesis; often a piece of ${form}. */
    struct scan_form previous;

    /*
     * For an unclosed list: where a new top-level form seems to start, a `(` in column 1, although ${form}
     * is open; and, when ${form} is a wrapper such as eval-when or progn with its body in column 1, the form
     * within it that is open there. Nowhere when there is none.
     */
    struct scan_form restart;
    struct scan_form inner;

    /* For an unclosed list: the innermost parenthesis open at ${restart}, or at the end when there is none.
     */
    struct scan_place innermost;

    /*
     * A guess from the indentation, or nowhere. For an unclosed list: the last byte after which `)` is
     * probably missing. For an unmatched parenthesis: the earlier `)` that is probably one too many.
     */
    struct scan_place suspect;

    /* A string in ${form} that runs over a line starting with `(`: perhaps its closing quote is missing. */
    struct scan_place runaway;
    struct scan_place runaway_line;
};

enum scan_match_status {
    SCAN_MATCH_FOUND,
    SCAN_MATCH_UNMATCHED, /* a parenthesis is there, but it has no partner */
    SCAN_MATCH_NO_PAREN,  /* another character is there, or nothing */
    SCAN_MATCH_IN_TEXT    /* a parenthesis is there, but in a string, comment, character or |symbol| */
};

struct scan_match {
    enum scan_match_status status;
    struct scan_place paren;   /* the parenthesis asked for; nowhere with SCAN_MATCH_NO_PAREN */
    struct scan_place partner; /* with SCAN_MATCH_FOUND */
    struct scan_place nearest; /* otherwise: the nearest parenthesis on that line that is code, or nowhere */
};

/*
 * scan_text(text, len):
 * Check that ${text} is a sequence of complete forms; explain the first fault if it is not.
 *
 * text        borrowed; any bytes, NUL included; may be NULL when ${len} is 0
 */
struct scan_result scan_text(const char *text, size_t len);

/*
 * scan_explain(result, text, len, out, cap):
 * Write what ${result} says, for a reader: `✓ Syntax valid: N top-level form(s)`, or `✗ Syntax invalid: ...`
 * and lines that say where, with the source line, and which form is open. No newline at the end.
 *
 * result      borrowed; what scan_text said about this ${text}
 * text        borrowed
 * out         borrowed; ends in NUL unless ${cap} is 0; cut at a whole character when ${cap} is too small
 */
void scan_explain(const struct scan_result *result, const char *text, size_t len, char *out, size_t cap);

/*
 * scan_match_paren(text, len, line, column):
 * Find the partner of the parenthesis at ${line} and ${column}, both from 1, the column in characters. Works
 * in text that has faults elsewhere.
 *
 * text        borrowed; as for scan_text
 */
struct scan_match scan_match_paren(const char *text, size_t len, size_t line, size_t column);

/*
 * scan_match_explain(match, line, column, text, len, out, cap):
 * Write what ${match} says, for a reader, as scan_explain does.
 *
 * line        as given to scan_match_paren, and so ${column}
 */
void scan_match_explain(const struct scan_match *match, size_t line, size_t column, const char *text,
                        size_t len, char *out, size_t cap);

#endif
