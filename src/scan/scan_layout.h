/*
 * How oddly a region's pieces are laid out, as a cost. Internal to src/scan.
 */
#ifndef SCAN_SCAN_LAYOUT_H
#define SCAN_SCAN_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "scan/scan_result.h"

struct scan_arity;
struct scan_piece;

struct scan_open_list {
    size_t column;
    size_t line;
    size_t children;
    size_t second;                  /* column of the second element, if on the list's first line; 0: none */
    size_t last;                    /* column of the last element that started a line; 0: none */
    const struct scan_arity *arity; /* of its operator */
    bool is_bindings;               /* the bindings of a LET */
    bool has_tails;                 /* one of its lines continues after the list that starts it */
    bool is_uncounted;              /* contains what may be no element, or several */
};

/* The state after some pieces. */
struct scan_layout {
    int cost;
    size_t depth;
    bool is_prefixed; /* the current datum began with its prefix */
    bool is_tail;     /* the list that starts the line has closed on it */
    bool line_starts_with_list;
    bool is_wrapper, is_begun;
    size_t line_depth; /* lists open at the start of the line */
    struct scan_open_list lists[SCAN_TRACKED_DEPTH];
};

/* scan_layout_take(layout, piece): add the cost of one more piece. False if it cannot stand there. */
bool scan_layout_take(struct scan_layout *layout, const struct scan_piece *piece);

/* scan_layout_close(layout): add the cost of one more `)`; a list must be open. */
void scan_layout_close(struct scan_layout *layout);

/* scan_layout_copy(to, from): like an assignment, but copies only the lists that are open. */
void scan_layout_copy(struct scan_layout *to, const struct scan_layout *from);

#endif
