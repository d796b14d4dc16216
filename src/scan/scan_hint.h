/*
 * Guesses about a fault from line starts and indentation. Internal to src/scan.
 */
#ifndef SCAN_SCAN_HINT_H
#define SCAN_SCAN_HINT_H

#include "scan/scan.h"

#include <stddef.h>

/*
 * scan_hint_unclosed_list(result, text, len, start):
 * Set restart, inner, innermost and suspect for the top-level form that starts at ${start} and never ends.
 *
 * result      borrowed; fault and depth are set
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
