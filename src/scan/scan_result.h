/*
 * The verdict on a text: the first fault, where it is, and which top-level form it is in.
 */
#ifndef SCAN_SCAN_RESULT_H
#define SCAN_SCAN_RESULT_H

#include <stddef.h>

#include "scan/scan_form.h"
#include "scan/scan_place.h"

enum { SCAN_TRACKED_DEPTH = 1024 }; /* open lists that have a record of their own, see scan.h */

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

struct scan_result {
    enum scan_fault fault;
    size_t forms;         /* complete top-level forms; if there is a fault, those before it */
    struct scan_place at; /* the fault, see enum scan_fault */
    size_t depth;         /* lists open at ${at} */

    /*
     * The top-level form that contains the fault: the one that is open, or, if a form closed too early and
     * its rest looks like top-level data, that form (what starts in column 1 starts a form). Nowhere if
     * there is none.
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
     * probably missing. For an unmatched parenthesis: the earlier `)` that is probably superfluous.
     */
    struct scan_place suspect;

    /* A string in ${form} that contains a line starting with `(`: perhaps its closing quote is missing. */
    struct scan_place runaway;
    struct scan_place runaway_line;
};

#endif
