/*
 * Guesses about a fault from line starts and indentation. Internal to src/scan.
 */
#ifndef SCAN_SCAN_HINT_H
#define SCAN_SCAN_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "scan/scan_result.h"

/* Where a new top-level form seems to start although a list is open. */
struct scan_restart {
    bool is_found;
    bool is_definite; /* a definition is open there, and starts in column 1 or at ${form_start} */
    size_t at;
    size_t depth; /* lists open there */
    size_t outer; /* start of the form that is open there: that definition, or ${form_start} */
};

/*
 * scan_hint_restart(text, len, form_start, is_balanced):
 * The first `(` in column 1 from ${form_start} on within a definition that is itself the open form or in
 * column 1; failing that, the first `(` in column 1 within any list.
 *
 * is_balanced the text has no fault: in a definition only another definition counts, after an indented line
 */
struct scan_restart scan_hint_restart(const char *text, size_t len, size_t form_start, bool is_balanced);

/*
 * scan_hint_innermost(text, len, start, limit, depth):
 * The last parenthesis that raised the number of open lists to ${depth}, counted from ${start} to ${limit}; 0
 * if none did. A `)` that closes nothing is passed over.
 *
 * text        borrowed
 */
size_t scan_hint_innermost(const char *text, size_t len, size_t start, size_t limit, size_t depth);

/*
 * scan_hint_unclosed_list(result, text, len, start):
 * Set restart, inner, innermost and suspect for the top-level form that starts at ${start} and never ends.
 *
 * result      borrowed; fault and depth are set; depth is 0 if the text balances
 * text        borrowed
 */
void scan_hint_unclosed_list(struct scan_result *result, const char *text, size_t len, size_t start);

/*
 * scan_hint_unmatched_close(result, text, len, start):
 * Set suspect for the parenthesis at ${result->at} that is one too many since the form that starts at
 * ${start}.
 *
 * result      borrowed; fault and at are set
 * text        borrowed
 */
void scan_hint_unmatched_close(struct scan_result *result, const char *text, size_t len, size_t start);

/*
 * scan_hint_runaway(result, text, len, start):
 * Set runaway and runaway_line to the first string from ${start} to the fault that runs over what looks like
 * the start of a form.
 *
 * result      borrowed; fault and at are set
 * text        borrowed
 */
void scan_hint_runaway(struct scan_result *result, const char *text, size_t len, size_t start);

#endif
