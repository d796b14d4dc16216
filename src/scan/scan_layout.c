/*
 * Responsible for rating a layout: each line with unusual indentation has a cost, and so has a standard
 * operator with a wrong number of arguments.
 */
#include "scan/scan_layout.h"

#include <string.h>

#include "scan/scan_arity.h"
#include "scan/scan_region.h"

enum {
    COST_OUTSIDE = 80,   /* no deeper than its list, or after the end of the form */
    COST_DEEPER = 40,    /* deeper than the previous line of the same list */
    COST_SHALLOWER = 30, /* shallower than that, and not where a body starts */
    COST_UNUSUAL = 30,   /* the first line of a list in an unusual column */
    COST_TAIL_ATOM = 35, /* an atom after the list that starts its line */
    COST_TAIL_LIST = 20, /* a list after the list that starts its line */
    COST_ARGUMENTS = 40, /* a standard operator with a number of arguments that it does not accept */
};

static void begin_datum(struct scan_layout *layout, const struct scan_piece *piece, bool is_list)
{
    if (layout->depth == 0) {
        if (!piece->starts_line || piece->column > 0 || (layout->is_wrapper && layout->is_begun))
            layout->cost += COST_OUTSIDE;
        layout->is_begun = true;
        return;
    }
    if (layout->is_wrapper && piece->starts_line && piece->column == 0) {
        if (layout->depth > 1)
            layout->cost += COST_OUTSIDE;
        return;
    }
    struct scan_open_list *list = &layout->lists[layout->depth - 1];
    size_t column = piece->column;
    if (piece->starts_line) {
        bool is_body = column == list->column + 1 || column == list->column + 2;
        if (column <= list->column)
            layout->cost += COST_OUTSIDE;
        else if (list->last > 0 && column > list->last)
            layout->cost += COST_DEEPER;
        else if (list->last > 0 && column < list->last && !is_body)
            layout->cost += COST_SHALLOWER;
        else if (list->last == 0 && !is_body && column != list->column + 4 && column != list->second)
            layout->cost += COST_UNUSUAL;
        list->last = column;
    } else {
        /* If one line of a list is written like this, others may be, too. */
        if (layout->is_tail && !list->has_tails && (list->arity == NULL || !list->arity->is_even)) {
            layout->cost += is_list ? COST_TAIL_LIST : COST_TAIL_ATOM;
            list->has_tails = true;
        }
        if (list->children == 1 && piece->line == list->line)
            list->second = column;
    }
    if (list->children == 0)
        list->arity = piece->arity;
    list->children++;
}

/* (NAME VALUE) */
static const struct scan_arity binding = {.most = 1};

void scan_layout_close(struct scan_layout *layout)
{
    const struct scan_open_list *list = &layout->lists[--layout->depth];
    const struct scan_arity *arity = list->arity;
    if (layout->depth > 0 && list[-1].is_bindings)
        arity = &binding;
    if (arity != NULL && list->children > 0 && !list->is_uncounted) {
        size_t arguments = list->children - 1;
        /* (setf NAME) is the name of a function. */
        bool is_wrong = arity->is_even ? arguments % 2 != 0 && arguments > 1
                                       : arguments < arity->least ||
                                             (arguments > arity->most && arity->most < SCAN_ARITY_ANY);
        if (is_wrong)
            layout->cost += COST_ARGUMENTS;
    }
    if (layout->depth < layout->line_depth ||
        (layout->depth == layout->line_depth && layout->line_starts_with_list))
        layout->is_tail = true;
}

bool scan_layout_take(struct scan_layout *layout, const struct scan_piece *piece)
{
    if (piece->starts_line) {
        layout->is_tail = false;
        layout->line_depth = layout->depth;
        layout->line_starts_with_list = piece->kind == SCAN_TOKEN_OPEN;
    }
    switch (piece->kind) {
    case SCAN_TOKEN_CLOSE:
        if (layout->depth == 0)
            return false;
        scan_layout_close(layout);
        return true;
    case SCAN_TOKEN_FEATURE: /* often in column 1 at any depth */
    case SCAN_TOKEN_CUSTOM:
        if (layout->depth > 0)
            layout->lists[layout->depth - 1].is_uncounted = true;
        return true;
    case SCAN_TOKEN_PREFIX:
    case SCAN_TOKEN_BACKQUOTE:
    case SCAN_TOKEN_COMMA:
        if (!layout->is_prefixed)
            begin_datum(layout, piece, true);
        layout->is_prefixed = true;
        if ((piece->is_conditional || (piece->end - piece->start > 1 && piece->kind == SCAN_TOKEN_COMMA)) &&
            layout->depth > 0)
            layout->lists[layout->depth - 1].is_uncounted = true;
        return true;
    case SCAN_TOKEN_OPEN:
        if (!layout->is_prefixed)
            begin_datum(layout, piece, true);
        layout->is_prefixed = false;
        if (layout->depth == SCAN_TRACKED_DEPTH)
            return false;
        layout->lists[layout->depth] = (struct scan_open_list){.column = piece->column, .line = piece->line};
        if (layout->depth > 0) {
            const struct scan_open_list *outer = &layout->lists[layout->depth - 1];
            layout->lists[layout->depth].is_bindings =
                outer->arity != NULL && outer->arity->has_bindings && outer->children == 2;
        }
        layout->depth++;
        return true;
    case SCAN_TOKEN_ATOM:
    case SCAN_TOKEN_DOT:
    case SCAN_TOKEN_DOTS:
        if (piece->kind != SCAN_TOKEN_ATOM && layout->depth > 0)
            layout->lists[layout->depth - 1].is_uncounted = true;
        if (!layout->is_prefixed)
            begin_datum(layout, piece, false);
        layout->is_prefixed = false;
        return true;
    case SCAN_TOKEN_END:
    case SCAN_TOKEN_UNREADABLE:
    case SCAN_TOKEN_STRAY_SHARP:
    case SCAN_TOKEN_OPEN_STRING:
    case SCAN_TOKEN_OPEN_COMMENT:
    case SCAN_TOKEN_OPEN_BAR:
    case SCAN_TOKEN_OPEN_ESCAPE:
        return false;
    }
    return false;
}

void scan_layout_copy(struct scan_layout *to, const struct scan_layout *from)
{
    memcpy(to, from, offsetof(struct scan_layout, lists) + from->depth * sizeof from->lists[0]);
}
