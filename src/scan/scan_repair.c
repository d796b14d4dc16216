/*
 * Decides where `)` should be added or removed. It works on one region at a time: from the start of
 * the faulty top-level form to the start of the next one.
 */
#include "scan/scan_repair.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "scan/scan_arity.h"
#include "scan/scan_form.h"
#include "scan/scan_hint.h"
#include "scan/scan_lexer.h"
#include "scan/scan_place.h"

/* The cost of a line with unusual indentation, and the margin by which a certain place must beat every
 * other. */
enum {
    COST_OUTSIDE = 80,   /* no deeper than its list, or after the end of the form */
    COST_DEEPER = 40,    /* deeper than the previous line of the same list */
    COST_SHALLOWER = 30, /* shallower than that, and not where a body starts */
    COST_UNUSUAL = 30,   /* the first line of a list in an unusual column */
    COST_TAIL_ATOM = 35, /* an atom after the list that starts its line */
    COST_TAIL_LIST = 20, /* a list after the list that starts its line */
    COST_ARGUMENTS = 40, /* a standard operator with a number of arguments that it does not accept */
    COST_HEADLESS = 10,  /* a list that closes right after its operator, in the middle of a line */
    CERTAIN_MARGIN = 40,
    IMPOSSIBLE = INT_MAX / 2,
};

struct piece {
    enum scan_token_kind kind;
    bool starts_line;
    bool is_conditional; /* a #+ or #- together with its feature */
    size_t start, end;
    size_t column;                  /* as an editor shows it, from 0; for a list, of its parenthesis */
    size_t line;                    /* counted from the region's start */
    const struct scan_arity *arity; /* of an atom that names a known operator */
};

struct region {
    const char *text;
    size_t len;
    size_t start, end;
    struct piece *pieces;
    size_t count;
    long net;         /* number of `(` minus number of `)` */
    bool is_wrapper;  /* a form that contains others in column 1 */
    bool is_doubtful; /* the most likely repair in it is not certain */
};

struct list {
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
struct layout {
    int cost;
    size_t depth;
    bool is_prefixed; /* the current datum began with its prefix */
    bool is_tail;     /* the list that starts the line has closed on it */
    bool line_starts_with_list;
    bool is_wrapper, is_begun;
    size_t line_depth; /* lists open at the start of the line */
    struct list lists[SCAN_TRACKED_DEPTH];
};

static void begin_datum(struct layout *layout, const struct piece *piece, bool is_list)
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
    struct list *list = &layout->lists[layout->depth - 1];
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

static void take_close(struct layout *layout)
{
    const struct list *list = &layout->lists[--layout->depth];
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

/* False if the piece cannot stand there. */
static bool take_piece(struct layout *layout, const struct piece *piece)
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
        take_close(layout);
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
        layout->lists[layout->depth] = (struct list){.column = piece->column, .line = piece->line};
        if (layout->depth > 0) {
            const struct list *outer = &layout->lists[layout->depth - 1];
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

static void copy_layout(struct layout *to, const struct layout *from)
{
    memcpy(to, from, offsetof(struct layout, lists) + from->depth * sizeof from->lists[0]);
}

/* The cost of the region if the rest from ${at} on stays as it is; IMPOSSIBLE if the form does not end
 * closed, or if the cost reaches ${bound}. */
static int cost_of_rest(struct layout *layout, const struct region *region, size_t at, int bound,
                        size_t *work)
{
    for (; at < region->count; at++) {
        ++*work;
        if (!take_piece(layout, &region->pieces[at]) || layout->cost >= bound)
            return IMPOSSIBLE;
    }
    return layout->depth == 0 ? layout->cost : IMPOSSIBLE;
}

struct choice {
    size_t piece; /* `)` are added after it, or it is the last one removed */
    int cost, next_cost;
};

/* How much more likely a place is that already has ${run} `)`: any of them could have been lost. */
static int run_bonus(size_t run)
{
    static const int bonuses[] = {0, 7, 11, 14, 16, 18, 19, 21};
    return run < sizeof bonuses / sizeof *bonuses ? bonuses[run] : 21;
}

static void offer(struct choice *choice, size_t piece, int cost)
{
    if (cost >= IMPOSSIBLE / 2)
        return;
    if (cost < choice->cost) {
        choice->next_cost = choice->cost;
        choice->cost = cost;
        choice->piece = piece;
    } else if (cost < choice->next_cost) {
        choice->next_cost = cost;
    }
}

static bool are_adjacent(const struct region *region, size_t last, size_t count)
{
    return region->pieces[last].start - region->pieces[last + 1 - count].start == count - 1;
}

static size_t run_length(const struct region *region, size_t at)
{
    size_t end = at;
    while (end < region->count && region->pieces[end].kind == SCAN_TOKEN_CLOSE)
        end++;
    return end - at;
}

static bool can_be_last(enum scan_token_kind kind)
{
    return kind == SCAN_TOKEN_ATOM || kind == SCAN_TOKEN_OPEN || kind == SCAN_TOKEN_CLOSE;
}

/* Whether a list closed after piece ${i} would contain at most an operator, with more on the same line. */
static bool would_be_headless(const struct region *region, const struct layout *layout, size_t i)
{
    return layout->lists[layout->depth - 1].children <= 1 && i + 1 < region->count &&
           !region->pieces[i + 1].starts_line;
}

/* A search for the place at which to add or remove ${count} `)`. */
struct search {
    const struct region *region;
    size_t count;
    bool is_removal;
    size_t work;
    struct choice choice;
    struct layout before, after; /* after the pieces passed; after the change */
};

static int search_bound(const struct search *search)
{
    return search->choice.next_cost < IMPOSSIBLE ? search->choice.next_cost + run_bonus(SIZE_MAX)
                                                 : IMPOSSIBLE;
}

/* The cost of adding after piece ${i}, which is the last of ${run} `)` or not a `)`. */
static void try_addition(struct search *search, size_t i, size_t run)
{
    struct layout *after = &search->after;
    if (search->before.depth < search->count || !can_be_last(search->region->pieces[i].kind) ||
        search->before.is_prefixed)
        return;
    copy_layout(after, &search->before);
    if (run == 0 && would_be_headless(search->region, after, i))
        after->cost += COST_HEADLESS;
    for (size_t k = 0; k < search->count; k++)
        take_close(after);
    int cost = cost_of_rest(after, search->region, i + 1, search_bound(search), &search->work);
    offer(&search->choice, i, cost - run_bonus(run));
}

/* The cost of removing the last of the ${run} `)` that start at piece ${i}. */
static void try_removal(struct search *search, size_t i, size_t run)
{
    struct layout *after = &search->after;
    if (run < search->count || !are_adjacent(search->region, i + run - 1, search->count))
        return;
    copy_layout(after, &search->before);
    for (size_t k = 0; k < run - search->count; k++)
        if (!take_piece(after, &search->region->pieces[i + k]))
            return;
    int cost = cost_of_rest(after, search->region, i + run, search_bound(search), &search->work);
    offer(&search->choice, i + run - 1, cost - run_bonus(run - 1));
}

/* False if there is no place, or if the search would take too long. */
static bool search_region(struct search *search)
{
    const struct region *region = search->region;
    size_t i = 0;
    while (i < region->count && search->work < SCAN_REPAIR_MOST_WORK) {
        size_t run = run_length(region, i);
        size_t next = i + (run > 0 ? run : 1);
        if (search->is_removal && run > 0)
            try_removal(search, i, run);
        search->work += next - i;
        while (i < next && take_piece(&search->before, &region->pieces[i]))
            i++;
        if (i < next || search->before.cost >= search_bound(search))
            break;
        if (!search->is_removal && run_length(region, next) == 0)
            try_addition(search, next - 1, run);
    }
    return search->choice.cost < IMPOSSIBLE && search->work < SCAN_REPAIR_MOST_WORK;
}

static bool is_column_one_open(const struct region *region, const struct scan_token *token)
{
    return token->kind == SCAN_TOKEN_OPEN && scan_place_is_column_one(region->text, token->start);
}

/* A feature that is a symbol belongs to its #+, which is then a prefix like others, unless it is in column
 * 1. */
static bool joins_conditional(struct region *region, const struct scan_token *token)
{
    struct piece *last = region->count == 0 ? NULL : &region->pieces[region->count - 1];
    if (last == NULL || last->kind != SCAN_TOKEN_FEATURE || last->is_conditional ||
        token->kind != SCAN_TOKEN_ATOM)
        return false;
    last->is_conditional = true;
    last->end = token->end;
    if (!last->starts_line || last->column > 0)
        last->kind = SCAN_TOKEN_PREFIX;
    return true;
}

static void add_piece(struct region *region, size_t *capacity, const struct scan_token *token,
                      struct scan_place_ruler *ruler, size_t *line)
{
    const char *from = region->text + ruler->at;
    size_t len = token->start - ruler->at;
    for (const char *newline; len > 0 && (newline = memchr(from, '\n', len)) != NULL; ++*line) {
        len -= (size_t)(newline - from) + 1;
        from = newline + 1;
    }
    if (region->count == *capacity) {
        *capacity = *capacity == 0 ? 256 : *capacity * 2;
        region->pieces = xrealloc(region->pieces, *capacity * sizeof *region->pieces);
    }
    size_t column = scan_place_ruler_move(ruler, region->text, region->len, token->start);
    region->pieces[region->count++] = (struct piece){
        .kind = token->kind,
        .starts_line = scan_place_starts_its_line(region->text, token->start),
        .start = token->start,
        .end = token->end,
        .column = token->kind == SCAN_TOKEN_OPEN ? column + (token->end - token->start - 1) : column,
        .line = *line,
        .arity = token->kind == SCAN_TOKEN_ATOM
                     ? scan_arity_of(region->text + token->start, token->end - token->start)
                     : NULL,
    };
}

/* A conditional in column 1 at the end belongs to the next form. */
static void leave_to_the_next(struct region *region)
{
    for (size_t i = region->count; i-- > 0;) {
        if (region->pieces[i].kind != SCAN_TOKEN_FEATURE || region->pieces[i].column > 0)
            continue;
        size_t after = i + 1;
        long depth = 0;
        do {
            if (after == region->count || region->pieces[i].is_conditional)
                break;
            depth += region->pieces[after].kind == SCAN_TOKEN_OPEN;
            depth -= region->pieces[after].kind == SCAN_TOKEN_CLOSE;
            after++;
        } while (depth > 0);
        if (after != region->count || depth != 0)
            return;
        region->count = i;
    }
}

/*
 * Cut the text from ${start} into pieces, up to ${end}, or if that is unknown, up to the first `(` in column
 * 1 after ${fault}.
 */
static void region_init(struct region *region, const char *text, size_t len, size_t start, size_t end,
                        size_t fault)
{
    *region = (struct region){.text = text, .len = len, .start = start, .end = end};
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_place_ruler ruler = {.at = start, .column = scan_place_indentation(text, len, start)};
    size_t capacity = 0, line = 0;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || token.start >= end ||
            (token.start > fault && token.start > start && is_column_one_open(region, &token)))
            break;
        if (region->count == SCAN_REPAIR_MOST_PIECES) {
            region->count = 0;
            return;
        }
        if (!joins_conditional(region, &token))
            add_piece(region, &capacity, &token, &ruler, &line);
    }
    leave_to_the_next(region);
    if (region->count > 0) {
        region->pieces[0].starts_line = true;
        region->pieces[0].column = scan_place_indentation(text, len, start);
    }
    for (size_t i = 0; i < region->count; i++) {
        /* What a reader macro reads cannot be known. */
        region->is_doubtful |= region->pieces[i].kind == SCAN_TOKEN_CUSTOM;
        region->net += region->pieces[i].kind == SCAN_TOKEN_OPEN;
        region->net -= region->pieces[i].kind == SCAN_TOKEN_CLOSE;
    }
}

/* Operators whose forms often contain other top-level forms, in column 1. */
static bool holds_top_level_forms(const char *text, size_t len, size_t form_start)
{
    static const char *const names[] = {"eval-when", "progn",  "locally", "macrolet", "symbol-macrolet",
                                        "flet",      "labels", "let",     "let*"};
    struct scan_lexer lexer = scan_lexer_at(text, len, form_start);
    struct scan_token token = scan_lexer_next(&lexer);
    if (token.kind != SCAN_TOKEN_OPEN)
        return false;
    token = scan_lexer_next(&lexer);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (token.end - token.start == strlen(names[i]) &&
            strncasecmp(text + token.start, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whether a list starts in column 1 within another. */
static bool holds_column_one(const struct region *region)
{
    size_t depth = 0;
    for (size_t i = 0; i < region->count; i++) {
        const struct piece *piece = &region->pieces[i];
        if (piece->kind == SCAN_TOKEN_OPEN && depth++ > 0 &&
            scan_place_is_column_one(region->text, piece->start))
            return true;
        if (piece->kind == SCAN_TOKEN_CLOSE && depth > 0)
            depth--;
    }
    return false;
}

/* The first token after the feature expression at the lexer's position. */
static struct scan_token skip_feature(struct scan_lexer *lexer)
{
    size_t depth = 0;
    for (;;) {
        struct scan_token token = scan_lexer_next(lexer);
        depth += token.kind == SCAN_TOKEN_OPEN;
        depth -= token.kind == SCAN_TOKEN_CLOSE && depth > 0;
        if (token.kind == SCAN_TOKEN_END)
            return token;
        if (depth == 0)
            return scan_lexer_next(lexer);
    }
}

/* The start of the form itself, if its conditional is at ${start}. */
static size_t behind_conditionals(const char *text, size_t len, size_t start)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_token token = scan_lexer_next(&lexer);
    while (token.kind == SCAN_TOKEN_FEATURE)
        token = skip_feature(&lexer);
    return token.start;
}

/* The region that contains the fault; false if it cannot be determined. */
static bool find_region(const char *text, size_t len, const struct scan_result *result, struct region *region)
{
    if (result->runaway.line > 0 || result->form.start.line == 0)
        return false;
    size_t start = behind_conditionals(text, len, result->form.start.offset);
    if (result->fault != SCAN_UNCLOSED_LIST) {
        region_init(region, text, len, start, len, result->at.offset);
        region->is_wrapper = holds_top_level_forms(text, len, start) || holds_column_one(region);
        /* A fault in a conditional; or the last `)` of a wrapper that closed early and does not look like
         * one. */
        region->is_doubtful |= (region->count > 0 && region->pieces[0].kind != SCAN_TOKEN_OPEN) ||
                               (!region->is_wrapper && scan_place_is_column_one(text, result->at.offset));
        return true;
    }
    if (result->inner.start.line > 0)
        start = result->inner.start.offset;
    bool has_restart = result->restart.start.line > 0;
    struct scan_restart restart = scan_hint_restart(text, len, start);
    if (has_restart && !restart.is_definite && holds_top_level_forms(text, len, start))
        return false;
    size_t end = has_restart ? result->restart.start.offset : len;
    region_init(region, text, len, start, end, end);
    return true;
}

static bool is_repairable(enum scan_fault fault)
{
    return fault == SCAN_UNMATCHED_CLOSE || fault == SCAN_UNCLOSED_LIST || fault == SCAN_DANGLING_PREFIX ||
           fault == SCAN_STRAY_DOT || fault == SCAN_STRAY_COMMA;
}

bool scan_find_swallowed(const char *text, size_t len, struct scan_result *result)
{
    struct scan_restart restart = scan_hint_restart(text, len, 0);
    if (!restart.is_definite)
        return false;
    *result = (struct scan_result){.fault = SCAN_UNCLOSED_LIST, .at = scan_place_of(text, len, restart.at)};
    result->form = scan_form_open(text, len, restart.outer);
    scan_hint_unclosed_list(result, text, len, restart.outer);
    return true;
}

static bool search_once(struct search *search, const struct region *region, size_t count, size_t *work)
{
    *search = (struct search){
        .region = region,
        .count = count,
        .is_removal = region->net < 0,
        .work = *work,
        .choice = {.cost = IMPOSSIBLE, .next_cost = IMPOSSIBLE},
        .before = {.is_wrapper = region->is_wrapper},
    };
    bool is_found = search_region(search);
    *work = search->work;
    return is_found;
}

/* Add or remove ${count} `)` at piece ${at}, in the pieces only. Returns the piece that is now last
 * there. */
static size_t change_pieces(struct region *region, size_t at, size_t count)
{
    if (region->net < 0) {
        memmove(&region->pieces[at + 1 - count], &region->pieces[at + 1],
                (region->count - at - 1) * sizeof *region->pieces);
        region->count -= count;
        region->net += (long)count;
        return at - count;
    }
    region->pieces = xrealloc(region->pieces, (region->count + count) * sizeof *region->pieces);
    memmove(&region->pieces[at + 1 + count], &region->pieces[at + 1],
            (region->count - at - 1) * sizeof *region->pieces);
    for (size_t i = 1; i <= count; i++)
        region->pieces[at + i] = (struct piece){.kind = SCAN_TOKEN_CLOSE,
                                                .start = region->pieces[at].end,
                                                .end = region->pieces[at].end,
                                                .column = region->pieces[at].column,
                                                .line = region->pieces[at].line};
    region->count += count;
    region->net -= (long)count;
    return at + count;
}

static bool is_clear(const struct choice *choice)
{
    return choice->next_cost - choice->cost >= CERTAIN_MARGIN;
}

/* Several `)` are first sought in one place; then whether one of them fits as well elsewhere. */
static bool find_place(struct region *region, struct scan_edit *edit, bool *is_certain, size_t *work)
{
    struct search *search = xmalloc(sizeof *search);
    size_t count = (size_t)labs(region->net);
    bool is_removal = region->net < 0;
    bool is_found = search_once(search, region, count, work);
    if (is_found) {
        const struct piece *piece = &region->pieces[search->choice.piece];
        size_t at = is_removal ? piece->end - count : piece->end;
        *edit = (struct scan_edit){.at = scan_place_of(region->text, region->len, at),
                                   .count = count,
                                   .is_removal = is_removal,
                                   .form = scan_form_open(region->text, region->len, region->start)};
        *is_certain = !region->is_doubtful && is_clear(&search->choice);
        if (*is_certain && count > 1) {
            size_t last = change_pieces(region, search->choice.piece, count - 1);
            *is_certain = search_once(search, region, 1, work) && search->choice.piece == last &&
                          is_clear(&search->choice);
        }
    }
    free(search);
    return is_found;
}

/* The edit that repairs the first fault of ${text}; sets *is_valid if there is none. */
static bool find_edit(const char *text, size_t len, struct scan_edit *edit, bool *is_certain, size_t *work)
{
    struct scan_result result = scan_text(text, len);
    if (result.fault == SCAN_VALID && !scan_find_swallowed(text, len, &result))
        return false;
    struct region region;
    if (!is_repairable(result.fault) || !find_region(text, len, &result, &region))
        return false;
    bool is_found = region.net != 0 && find_place(&region, edit, is_certain, work);
    free(region.pieces);
    return is_found;
}

static void apply(struct strbuf *text, const struct scan_edit *edit)
{
    struct strbuf changed;
    strbuf_init(&changed, 0);
    strbuf_add(&changed, text->bytes, edit->at.offset);
    for (size_t i = 0; !edit->is_removal && i < edit->count; i++)
        strbuf_addc(&changed, ')');
    size_t rest = edit->at.offset + (edit->is_removal ? edit->count : 0);
    strbuf_add(&changed, text->bytes + rest, text->len - rest);
    strbuf_fini(text);
    *text = changed;
}

/* The offset that the byte at ${offset} had before ${edit} was made. */
static size_t offset_before(size_t offset, const struct scan_edit *edit)
{
    if (offset <= edit->at.offset)
        return offset;
    if (edit->is_removal)
        return offset + edit->count;
    return offset - edit->at.offset < edit->count ? edit->at.offset : offset - edit->count;
}

void scan_find_repair(const char *text, size_t len, struct scan_repair *repair, struct strbuf *out)
{
    struct strbuf changed;
    size_t work = 0;
    *repair = (struct scan_repair){.edit_count = 0};
    strbuf_init(&changed, 0);
    strbuf_add(&changed, text, len);
    bool is_certain = true;
    /* The offsets of each edit refer to the text after the previous edits. */
    while (is_certain && repair->edit_count < SCAN_REPAIR_MOST_EDITS &&
           find_edit(changed.bytes, changed.len, &repair->edits[repair->edit_count], &is_certain, &work))
        apply(&changed, &repair->edits[repair->edit_count++]);
    struct scan_result result;
    repair->is_certain = repair->edit_count > 0 && is_certain &&
                         scan_text(changed.bytes, changed.len).fault == SCAN_VALID &&
                         !scan_find_swallowed(changed.bytes, changed.len, &result);
    for (size_t i = repair->edit_count; i-- > 0;) {
        size_t offset = repair->edits[i].at.offset, form = repair->edits[i].form.start.offset;
        for (size_t j = i; j-- > 0;) {
            offset = offset_before(offset, &repair->edits[j]);
            form = offset_before(form, &repair->edits[j]);
        }
        repair->edits[i].at = scan_place_of(text, len, offset);
        repair->edits[i].form = scan_form_open(text, len, form);
    }
    if (out != NULL && repair->is_certain)
        strbuf_add(out, changed.bytes, changed.len);
    strbuf_fini(&changed);
}
