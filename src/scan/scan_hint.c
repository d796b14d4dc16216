/*
 * Guesses that help to find a fault: text in column 1 starts a new form, and text that is indented deeper
 * than a list is in it. They make further passes over the text, so text without a fault pays nothing for
 * them, and they never change the verdict.
 */
#include "scan/scan_hint.h"

#include "scan/scan_form.h"
#include "scan/scan_lexer.h"
#include "scan/scan_place.h"

#include <stdint.h>
#include <string.h>

/* Whether the list whose `(` ends at ${offset} is a definition; these do not contain top-level forms. */
static bool is_definition(const char *text, size_t len, size_t offset)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, offset);
    struct scan_token token = scan_lexer_next(&lexer);
    size_t name = token.start;
    if (token.kind != SCAN_TOKEN_ATOM)
        return false;
    for (size_t at = token.start; at < token.end; at++) {
        if (text[at] == ':')
            name = at + 1;
    }
    if (token.end - name < 3)
        return false;
    return (text[name] | 0x20) == 'd' && (text[name + 1] | 0x20) == 'e' && (text[name + 2] | 0x20) == 'f';
}

struct column_one {
    size_t start;
    size_t depth; /* lists open around it */
    bool is_definition;
    bool has_indented_line; /* so far */
};

/*
 * The first `(` in column 1 within a definition that is itself the open form or in column 1; failing that,
 * the first `(` in column 1. A wrapper's body is often in column 1, a definition's hardly ever; but in text
 * that balances, only a definition after an indented line is more likely a fault than code without
 * indentation.
 */
struct scan_restart scan_hint_restart(const char *text, size_t len, size_t form_start, bool is_balanced)
{
    enum { KEPT = 32 };
    struct column_one stack[KEPT];
    size_t count = 0;
    size_t depth = 0;
    struct scan_restart restart = {.outer = form_start};
    struct scan_lexer lexer = scan_lexer_at(text, len, form_start);

    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END)
            return restart;
        if (token.kind == SCAN_TOKEN_CLOSE) {
            depth--;
            if (count > 0 && stack[count - 1].depth == depth)
                count--;
        }
        bool is_column_one = scan_place_is_column_one(text, token.start);
        if (count > 0 && token.kind != SCAN_TOKEN_CLOSE && !is_column_one &&
            scan_place_starts_its_line(text, token.start))
            stack[count - 1].has_indented_line = true;
        if (token.kind != SCAN_TOKEN_OPEN)
            continue;
        if (depth == 0 || is_column_one) {
            bool is_itself_definition = is_definition(text, len, token.end);
            bool is_inside_definition =
                count > 0 && stack[count - 1].is_definition &&
                (!is_balanced || (is_itself_definition && stack[count - 1].has_indented_line));
            if (depth > 0 && (is_inside_definition || !restart.is_found)) {
                restart = (struct scan_restart){.is_found = true,
                                                .is_definite = is_inside_definition,
                                                .at = token.start,
                                                .depth = depth,
                                                .outer = is_inside_definition ? stack[count - 1].start
                                                                              : form_start};
            }
            if (is_inside_definition)
                return restart;
            if (count < KEPT)
                stack[count++] = (struct column_one){
                    .start = token.start, .depth = depth, .is_definition = is_itself_definition};
        }
        depth++;
    }
}

size_t scan_hint_innermost(const char *text, size_t len, size_t start, size_t limit, size_t depth)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    size_t open = 0;
    size_t found = 0;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || token.start >= limit)
            return found;
        if (token.kind == SCAN_TOKEN_OPEN && ++open == depth)
            found = token.end - 1;
        else if (token.kind == SCAN_TOKEN_CLOSE && open > 0)
            open--;
    }
}

/*
 * The first line between ${start} and ${limit} that is indented no deeper than the list it is in: that list
 * should have ended before it. ${last} is the last byte before that line, or before ${limit}.
 */
static bool find_missing_close(const char *text, size_t len, size_t start, size_t limit, size_t *last)
{
    size_t columns[SCAN_TRACKED_DEPTH];
    size_t depth = 0;
    size_t line_end = start;
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_place_ruler ruler = {.at = start, .column = scan_place_indentation(text, len, start)};
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || token.start >= limit) {
            *last = line_end - 1;
            return limit < len && line_end > start;
        }
        size_t column = scan_place_ruler_move(&ruler, text, len, token.start);
        /* Conditionals are often in column 1 at any depth. */
        if (depth > 0 && depth <= SCAN_TRACKED_DEPTH && column <= columns[depth - 1] &&
            token.kind != SCAN_TOKEN_CLOSE && token.kind != SCAN_TOKEN_FEATURE &&
            scan_place_starts_its_line(text, token.start)) {
            *last = line_end - 1;
            return true;
        }
        if (token.kind == SCAN_TOKEN_OPEN) {
            if (depth < SCAN_TRACKED_DEPTH)
                columns[depth] = column;
            depth++;
        } else if (token.kind == SCAN_TOKEN_CLOSE && depth > 0) {
            depth--;
        }
        line_end = token.end;
    }
}

/*
 * The first `)` between ${start} and ${limit} that ends a list which starts a line, if the next line is
 * indented deeper than that list, as if the list were still open.
 */
static bool find_early_close(const char *text, size_t len, size_t start, size_t limit, size_t *found)
{
    size_t columns[SCAN_TRACKED_DEPTH];
    size_t depth = 0;
    size_t closed_column = SIZE_MAX;
    size_t closed_at = 0;
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct scan_place_ruler ruler = {.at = start, .column = scan_place_indentation(text, len, start)};
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || token.start >= limit)
            return false;
        size_t column = scan_place_ruler_move(&ruler, text, len, token.start);
        bool is_first = scan_place_starts_its_line(text, token.start);
        if (token.kind == SCAN_TOKEN_CLOSE) {
            if (depth > 0)
                depth--;
            closed_column = depth < SCAN_TRACKED_DEPTH ? columns[depth] : SIZE_MAX;
            closed_at = token.start;
            continue;
        }
        if (is_first && closed_column != SIZE_MAX && column > closed_column) {
            *found = closed_at;
            return true;
        }
        closed_column = SIZE_MAX;
        if (token.kind == SCAN_TOKEN_OPEN) {
            if (depth < SCAN_TRACKED_DEPTH)
                columns[depth] = is_first || depth == 0 ? column : SIZE_MAX;
            depth++;
        }
    }
}

/* A line in the token that starts like a form; with ${only_definitions}, like (def... */
static bool find_form_line(const char *text, const struct scan_token *token, bool only_definitions,
                           size_t *line)
{
    const char *wanted = only_definitions ? "(def" : "(";
    size_t at = token->start;
    while (at < token->end) {
        const char *newline = memchr(text + at, '\n', token->end - at);
        if (newline == NULL)
            return false;
        at = (size_t)(newline - text) + 1;
        if (token->end - at >= strlen(wanted) && memcmp(text + at, wanted, strlen(wanted)) == 0) {
            *line = at;
            return true;
        }
    }
    return false;
}

void scan_hint_runaway(struct scan_result *result, const char *text, size_t len, size_t start)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    bool only_definitions = result->fault != SCAN_UNCLOSED_STRING && result->fault != SCAN_UNCLOSED_COMMENT;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        bool is_text = token.kind == SCAN_TOKEN_OPEN_STRING || token.kind == SCAN_TOKEN_OPEN_COMMENT ||
                       (token.kind == SCAN_TOKEN_ATOM && text[token.start] == '"');
        size_t line;
        if (token.kind == SCAN_TOKEN_END || token.start > result->at.offset)
            return;
        if (is_text && find_form_line(text, &token, only_definitions, &line)) {
            result->runaway = scan_place_of(text, len, token.start);
            result->runaway_line = scan_place_of(text, len, line);
            return;
        }
    }
}

void scan_hint_unclosed_list(struct scan_result *result, const char *text, size_t len, size_t start)
{
    struct scan_restart restart = scan_hint_restart(text, len, start, result->depth == 0);
    size_t limit = restart.is_found ? restart.at : len;
    size_t last;
    result->innermost = scan_place_of(
        text, len,
        scan_hint_innermost(text, len, start, limit, restart.is_found ? restart.depth : result->depth));
    if (restart.is_found)
        result->restart = scan_form_open(text, len, restart.at);
    if (restart.outer != start)
        result->inner = scan_form_open(text, len, restart.outer);
    if (find_missing_close(text, len, restart.outer, limit, &last))
        result->suspect = scan_place_of(text, len, last);
}

void scan_hint_unmatched_close(struct scan_result *result, const char *text, size_t len, size_t start)
{
    size_t found;
    if (find_early_close(text, len, start, result->at.offset, &found))
        result->suspect = scan_place_of(text, len, found);
}
