/*
 * Finds the likely repair of mismatched parentheses from the indentation, and whether it is certain enough
 * to be made without asking. Only `)` is ever added or removed.
 *
 * A repair is judged by the indentation that results: for each place at which `)` could be added or
 * removed so that the top-level form closes where it should, each oddly indented line of the form adds to
 * the cost. The cheapest place is the likely repair. It is certain if every other place costs clearly
 * more.
 *
 * Text with a string, block comment, |symbol| or escape that never ends is never repaired. Neither is a
 * form in which a string contains what looks like the start of another form: there, a `"` is wrong rather
 * than a `)`.
 *
 * Memory and work are bounded: a form of more than a million tokens (some 64 bytes each), or one that would
 * take more than SCAN_REPAIR_MOST_WORK steps, is not repaired.
 */
#ifndef SCAN_SCAN_REPAIR_H
#define SCAN_SCAN_REPAIR_H

#include "scan/scan.h"

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SCAN_REPAIR_MOST_EDITS = 32,
    SCAN_REPAIR_MOST_WORK = 100 * 1000 * 1000, /* tokens visited; about half a second */
};

/* `)` added before the byte at ${at}, or ${count} `)` removed from ${at} on. Positions are in the original
 * text. */
struct scan_edit {
    struct scan_place at;
    size_t count;
    bool is_removal;
    struct scan_form form; /* the top-level form it is in */
};

struct scan_repair {
    struct scan_edit edits[SCAN_REPAIR_MOST_EDITS]; /* in the order in which they were found */
    size_t edit_count;                              /* 0: no repair was found */
    bool is_certain; /* all edits are, and the repaired text is a sequence of complete forms */
};

/*
 * scan_find_swallowed(text, len, result):
 * In valid text, find a definition in column 1 inside another definition in column 1, after an indented line
 * of that one: two faults that cancel out. Sets form, restart, inner, innermost and suspect of ${result} as
 * for an unclosed list, and fault to SCAN_UNCLOSED_LIST with depth 0.
 *
 * Returns     whether there is one
 */
bool scan_find_swallowed(const char *text, size_t len, struct scan_result *result);

/* scan_has_fault(text, len, result): scan_text(), and if it finds no fault, scan_find_swallowed(). */
bool scan_has_fault(const char *text, size_t len, struct scan_result *result);

/*
 * scan_find_repair(text, len, repair, out):
 * Find the repair of ${text}.
 *
 * text        borrowed; any bytes
 * repair      filled in
 * out         borrowed; if the repair is certain, the repaired text is appended; may be NULL
 */
void scan_find_repair(const char *text, size_t len, struct scan_repair *repair, struct strbuf *out);

#endif
