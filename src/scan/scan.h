/*
 * Checks Common Lisp text without reading or running it: whether every form closes; if not, where the
 * fault is and which top-level form contains it. Standard syntax only; macro characters that the text
 * defines are passed over as well as possible (`#[`, `#?` and the like are not faults). No input or
 * output, no allocation, no recursion, no globals. Time is linear in the text, and no result points into
 * the text.
 *
 * Memory is bounded at any nesting: about 48 KiB of stack. Positions and counts are exact at any depth (a
 * second pass computes them). In lists nested deeper than SCAN_TRACKED_DEPTH, parentheses, strings,
 * comments and bars are still checked; dots, commas and prefixes without a datum are not, and there is no
 * `suspect`.
 *
 * Text after #+ and #- is checked like any other, except for dots and commas, since the reader may skip
 * it.
 */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include <stddef.h>

#include "scan/scan_result.h"

struct strbuf;

enum scan_match_status {
    SCAN_MATCH_FOUND,
    SCAN_MATCH_UNMATCHED, /* a parenthesis without a partner */
    SCAN_MATCH_NO_PAREN,  /* another character, or nothing */
    SCAN_MATCH_IN_TEXT    /* a parenthesis in a string, comment, character or |symbol| */
};

struct scan_match {
    enum scan_match_status status;
    struct scan_place paren;   /* the requested parenthesis; nowhere with SCAN_MATCH_NO_PAREN */
    struct scan_place partner; /* with SCAN_MATCH_FOUND */
    struct scan_place nearest; /* otherwise: the nearest parenthesis in code on that line, or nowhere */
};

/*
 * scan_text(text, len):
 * Check that ${text} is a sequence of complete forms; explain the first fault if it is not.
 *
 * text        borrowed; any bytes, NUL included; may be NULL when ${len} is 0
 */
struct scan_result scan_text(const char *text, size_t len);

/*
 * scan_explain(result, text, len, out):
 * Describe ${result} for a reader: `✓ Syntax valid: N top-level form(s)`, or `✗ Syntax invalid: ...`
 * and lines with the position, the source line, and the open form. No newline at the end.
 *
 * result      borrowed; from scan_text for this ${text}
 * text        borrowed
 * out         the description is appended
 */
void scan_explain(const struct scan_result *result, const char *text, size_t len, struct strbuf *out);

/*
 * scan_match_paren(text, len, line, column):
 * Find the partner of the parenthesis at ${line} and ${column}, both from 1, the column in characters. Works
 * in text that has faults elsewhere.
 *
 * text        borrowed; as for scan_text
 */
struct scan_match scan_match_paren(const char *text, size_t len, size_t line, size_t column);

/*
 * scan_match_explain(match, line, column, text, len, out):
 * Describe ${match} for a reader, as scan_explain does.
 *
 * line        as passed to scan_match_paren; so is ${column}
 */
void scan_match_explain(const struct scan_match *match, size_t line, size_t column, const char *text,
                        size_t len, struct strbuf *out);

#endif
