/*
 * Decides where `)` should be added or removed, one region at a time. scan_layout.c has the costs.
 */
#include "scan/scan_repair.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "scan/scan_form.h"
#include "scan/scan_hint.h"
#include "scan/scan_layout.h"
#include "scan/scan_place.h"
#include "scan/scan_region.h"

enum {
    COST_HEADLESS = 10,  /* a list that closes right after its operator, in the middle of a line */
    CERTAIN_MARGIN = 40, /* a certain place costs this much less than every other */
    IMPOSSIBLE = INT_MAX / 2,
};

/* The cost of the region if the rest from ${at} on stays as it is; IMPOSSIBLE if the form does not end
 * closed, or if the cost reaches ${bound}. */
static int cost_of_rest(struct scan_layout *layout, const struct scan_region *region, size_t at, int bound,
                        size_t *work)
{
    for (; at < region->count; at++) {
        ++*work;
        if (!scan_layout_take(layout, &region->pieces[at]) || layout->cost >= bound)
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

static bool are_adjacent(const struct scan_region *region, size_t last, size_t count)
{
    return region->pieces[last].start - region->pieces[last + 1 - count].start == count - 1;
}

static size_t run_length(const struct scan_region *region, size_t at)
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
static bool would_be_headless(const struct scan_region *region, const struct scan_layout *layout, size_t i)
{
    return layout->lists[layout->depth - 1].children <= 1 && i + 1 < region->count &&
           !region->pieces[i + 1].starts_line;
}

/* A search for the place at which to add or remove ${count} `)`. */
struct search {
    const struct scan_region *region;
    size_t count;
    bool is_removal;
    size_t work;
    struct choice choice;
    struct scan_layout before, after; /* after the pieces passed; after the change */
};

static int search_bound(const struct search *search)
{
    return search->choice.next_cost < IMPOSSIBLE ? search->choice.next_cost + run_bonus(SIZE_MAX)
                                                 : IMPOSSIBLE;
}

/* The cost of adding after piece ${i}, which is the last of ${run} `)` or not a `)`. */
static void try_addition(struct search *search, size_t i, size_t run)
{
    struct scan_layout *after = &search->after;
    if (search->before.depth < search->count || !can_be_last(search->region->pieces[i].kind) ||
        search->before.is_prefixed)
        return;
    scan_layout_copy(after, &search->before);
    if (run == 0 && would_be_headless(search->region, after, i))
        after->cost += COST_HEADLESS;
    for (size_t k = 0; k < search->count; k++)
        scan_layout_close(after);
    int cost = cost_of_rest(after, search->region, i + 1, search_bound(search), &search->work);
    offer(&search->choice, i, cost - run_bonus(run));
}

/* The cost of removing the last of the ${run} `)` that start at piece ${i}. */
static void try_removal(struct search *search, size_t i, size_t run)
{
    struct scan_layout *after = &search->after;
    if (run < search->count || !are_adjacent(search->region, i + run - 1, search->count))
        return;
    scan_layout_copy(after, &search->before);
    for (size_t k = 0; k < run - search->count; k++)
        if (!scan_layout_take(after, &search->region->pieces[i + k]))
            return;
    int cost = cost_of_rest(after, search->region, i + run, search_bound(search), &search->work);
    offer(&search->choice, i + run - 1, cost - run_bonus(run - 1));
}

/* False if there is no place, or if the search would take too long. */
static bool search_region(struct search *search)
{
    const struct scan_region *region = search->region;
    size_t i = 0;
    while (i < region->count && search->work < SCAN_REPAIR_MOST_WORK) {
        size_t run = run_length(region, i);
        size_t next = i + (run > 0 ? run : 1);
        if (search->is_removal && run > 0)
            try_removal(search, i, run);
        search->work += next - i;
        while (i < next && scan_layout_take(&search->before, &region->pieces[i]))
            i++;
        if (i < next || search->before.cost >= search_bound(search))
            break;
        if (!search->is_removal && run_length(region, next) == 0)
            try_addition(search, next - 1, run);
    }
    return search->choice.cost < IMPOSSIBLE && search->work < SCAN_REPAIR_MOST_WORK;
}

static bool is_repairable(enum scan_fault fault)
{
    return fault == SCAN_UNMATCHED_CLOSE || fault == SCAN_UNCLOSED_LIST || fault == SCAN_DANGLING_PREFIX ||
           fault == SCAN_STRAY_DOT || fault == SCAN_STRAY_COMMA;
}

bool scan_find_swallowed(const char *text, size_t len, struct scan_result *result)
{
    struct scan_restart restart = scan_hint_restart(text, len, 0, true);
    if (!restart.is_definite)
        return false;
    *result = (struct scan_result){.fault = SCAN_UNCLOSED_LIST, .at = scan_place_of(text, len, restart.at)};
    result->form = scan_form_open(text, len, restart.outer);
    scan_hint_unclosed_list(result, text, len, restart.outer);
    return true;
}

bool scan_has_fault(const char *text, size_t len, struct scan_result *result)
{
    *result = scan_text(text, len);
    return result->fault != SCAN_VALID || scan_find_swallowed(text, len, result);
}

static bool search_once(struct search *search, const struct scan_region *region, size_t count, size_t *work)
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

static bool is_clear(const struct choice *choice)
{
    return choice->next_cost - choice->cost >= CERTAIN_MARGIN;
}

/* Several `)` are first sought in one place; then whether one of them fits as well elsewhere. */
static bool find_place(struct scan_region *region, struct scan_edit *edit, bool *is_certain, size_t *work)
{
    struct search *search = xmalloc(sizeof *search);
    size_t count = (size_t)labs(region->net);
    bool is_removal = region->net < 0;
    bool is_found = search_once(search, region, count, work);
    if (is_found) {
        const struct scan_piece *piece = &region->pieces[search->choice.piece];
        size_t at = is_removal ? piece->end - count : piece->end;
        *edit = (struct scan_edit){.at = scan_place_of(region->text, region->len, at),
                                   .count = count,
                                   .is_removal = is_removal,
                                   .form = scan_form_open(region->text, region->len, region->start)};
        *is_certain = !region->is_doubtful && is_clear(&search->choice);
        if (*is_certain && count > 1) {
            size_t last = scan_region_change(region, search->choice.piece, count - 1);
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
    struct scan_result result;
    if (!scan_has_fault(text, len, &result))
        return false;
    struct scan_region region;
    if (!is_repairable(result.fault) || !scan_region_find(text, len, &result, &region))
        return false;
    bool is_found = region.net != 0 && find_place(&region, edit, is_certain, work);
    scan_region_fini(&region);
    return is_found;
}

static void apply(struct strbuf *text, const struct scan_edit *edit)
{
    struct strbuf changed = {0};
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
    struct strbuf changed = {0};
    size_t work = 0;
    *repair = (struct scan_repair){.edit_count = 0};
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
