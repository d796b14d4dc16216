/*
 * Responsible for finding the region of a fault and cutting it into pieces.
 */
#include "scan/scan_region.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "scan/scan_arity.h"
#include "scan/scan_form.h"
#include "scan/scan_hint.h"
#include "scan/scan_place.h"

static bool is_column_one_open(const struct scan_region *region, const struct scan_token *token)
{
    return token->kind == SCAN_TOKEN_OPEN && scan_place_is_column_one(region->text, token->start);
}

/* A feature that is a symbol belongs to its #+, which is then a prefix like others, unless it is in column
 * 1. */
static bool joins_conditional(struct scan_region *region, const struct scan_token *token)
{
    struct scan_piece *last = region->count == 0 ? NULL : &region->pieces[region->count - 1];
    if (last == NULL || last->kind != SCAN_TOKEN_FEATURE || last->is_conditional ||
        token->kind != SCAN_TOKEN_ATOM)
        return false;
    last->is_conditional = true;
    last->end = token->end;
    if (!last->starts_line || last->column > 0)
        last->kind = SCAN_TOKEN_PREFIX;
    return true;
}

static void add_piece(struct scan_region *region, size_t *capacity, const struct scan_token *token,
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
    region->pieces[region->count++] = (struct scan_piece){
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
static void leave_to_the_next(struct scan_region *region)
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
static void region_init(struct scan_region *region, const char *text, size_t len, size_t start, size_t end,
                        size_t fault)
{
    *region = (struct scan_region){.text = text, .len = len, .start = start, .end = end};
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_place_ruler ruler = {.at = start, .column = scan_place_indentation(text, len, start)};
    size_t capacity = 0, line = 0;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || token.start >= end ||
            (token.start > fault && token.start > start && is_column_one_open(region, &token)))
            break;
        if (region->count == SCAN_REGION_MOST_PIECES) {
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
    struct scan_lexer lexer = scan_lexer_at(text, len, form_start);
    if (scan_lexer_next(&lexer).kind != SCAN_TOKEN_OPEN)
        return false;
    struct scan_token token = scan_lexer_next(&lexer);
    return scan_wrapper_find(text + token.start, token.end - token.start) != NULL;
}

/* Whether a list starts in column 1 within another. */
static bool holds_column_one(const struct scan_region *region)
{
    size_t depth = 0;
    for (size_t i = 0; i < region->count; i++) {
        const struct scan_piece *piece = &region->pieces[i];
        if (piece->kind == SCAN_TOKEN_OPEN && depth++ > 0 &&
            scan_place_is_column_one(region->text, piece->start))
            return true;
        if (piece->kind == SCAN_TOKEN_CLOSE && depth > 0)
            depth--;
    }
    return false;
}

/* The start of the form itself, if its conditional is at ${start}. */
static size_t behind_conditionals(const char *text, size_t len, size_t start)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_token token = scan_lexer_next(&lexer);
    while (token.kind == SCAN_TOKEN_FEATURE) {
        scan_form_skip(&lexer);
        token = scan_lexer_next(&lexer);
    }
    return token.start;
}

bool scan_region_find(const char *text, size_t len, const struct scan_result *result,
                      struct scan_region *region)
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
    struct scan_restart restart = scan_hint_restart(text, len, start, result->depth == 0);
    if (has_restart && !restart.is_definite && holds_top_level_forms(text, len, start))
        return false;
    size_t end = has_restart ? result->restart.start.offset : len;
    region_init(region, text, len, start, end, end);
    return true;
}

size_t scan_region_change(struct scan_region *region, size_t at, size_t count)
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
        region->pieces[at + i] = (struct scan_piece){.kind = SCAN_TOKEN_CLOSE,
                                                     .start = region->pieces[at].end,
                                                     .end = region->pieces[at].end,
                                                     .column = region->pieces[at].column,
                                                     .line = region->pieces[at].line};
    region->count += count;
    region->net -= (long)count;
    return at + count;
}

void scan_region_fini(struct scan_region *region)
{
    free(region->pieces);
}
