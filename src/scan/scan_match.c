/*
 * Finds the partner of a parenthesis by counting, so it needs no stack and works at any depth.
 */
#include "scan/scan.h"

#include "scan/scan_hint.h"
#include "scan/scan_lexer.h"
#include "scan/scan_place.h"

#include <stdbool.h>
#include <string.h>

static bool is_paren(const struct scan_token *token)
{
    return token->kind == SCAN_TOKEN_OPEN || token->kind == SCAN_TOKEN_CLOSE;
}

/* Where ${line} starts and, one past its last byte, ends; false if there is no such line. */
static bool find_line(const char *text, size_t len, size_t line, size_t *start, size_t *end)
{
    const char *newline;
    *start = 0;
    for (size_t i = 1; i < line; i++) {
        newline = *start < len ? memchr(text + *start, '\n', len - *start) : NULL;
        if (newline == NULL)
            return false;
        *start = (size_t)(newline - text) + 1;
    }
    newline = *start < len ? memchr(text + *start, '\n', len - *start) : NULL;
    *end = newline != NULL ? (size_t)(newline - text) : len;
    return line > 0;
}

static size_t find_column(const char *text, size_t len, size_t start, size_t end, size_t column)
{
    size_t at = start;
    for (size_t i = 1; i < column && at < end; i++)
        at += scan_place_char_len(text, len, at);
    return at < end ? at : end;
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

static bool find_closing(struct scan_lexer lexer, size_t *found)
{
    size_t depth = 1;
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END)
            return false;
        if (token.kind == SCAN_TOKEN_OPEN) {
            depth++;
        } else if (token.kind == SCAN_TOKEN_CLOSE && --depth == 0) {
            *found = token.start;
            return true;
        }
    }
}

struct scan_match scan_match_paren(const char *text, size_t len, size_t line, size_t column)
{
    struct scan_match match = {.status = SCAN_MATCH_NO_PAREN};
    struct scan_lexer lexer = scan_lexer_at(text, len, 0);
    size_t start, end;
    size_t depth = 0;
    size_t nearest = 0;
    bool has_nearest = false;
    if (column == 0 || !find_line(text, len, line, &start, &end))
        return match;
    size_t wanted = find_column(text, len, start, end, column);
    for (;;) {
        struct scan_token token = scan_lexer_next(&lexer);
        size_t paren = token.end - 1;
        if (token.kind == SCAN_TOKEN_END || token.start > end)
            break;
        if (is_paren(&token) && paren >= start && paren < end &&
            (!has_nearest || distance(paren, wanted) < distance(nearest, wanted))) {
            has_nearest = true;
            nearest = paren;
        }
        if (is_paren(&token) && paren == wanted) {
            bool is_open = token.kind == SCAN_TOKEN_OPEN;
            size_t partner = is_open ? 0 : scan_hint_innermost(text, len, 0, wanted, depth);
            bool is_found = is_open ? find_closing(lexer, &partner) : depth > 0;
            match.paren = scan_place_of(text, len, wanted);
            match.status = is_found ? SCAN_MATCH_FOUND : SCAN_MATCH_UNMATCHED;
            if (is_found)
                match.partner = scan_place_of(text, len, partner);
            return match;
        }
        if (token.kind == SCAN_TOKEN_OPEN)
            depth++;
        else if (token.kind == SCAN_TOKEN_CLOSE && depth > 0)
            depth--;
    }
    if (wanted < end && (text[wanted] == '(' || text[wanted] == ')')) {
        match.status = SCAN_MATCH_IN_TEXT;
        match.paren = scan_place_of(text, len, wanted);
    }
    if (has_nearest)
        match.nearest = scan_place_of(text, len, nearest);
    return match;
}
