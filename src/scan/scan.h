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

#include "scan/scan_result.h"

enum {
    SCAN_EXPLAIN_SIZE = 4096 /* what scan_explain and scan_match_explain write always fits, with its NUL */
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
