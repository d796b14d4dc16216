/*
 * Describes findings in words: first the verdict in one line; then the position, with its line and a
 * caret; then the open form; guesses come last and are marked as such.
 */
#include "scan/scan.h"

#include "scan/scan_place.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_COLUMNS = 100 };

struct page {
    char *out;
    size_t cap;
    size_t used;
};

static void page_end(struct page *page)
{
    if (page->cap > 0)
        page->out[page->used] = '\0';
}

/* Whole characters only: a character that does not fit is omitted. */
static void page_put(struct page *page, const char *piece, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t count = scan_place_char_len(piece, len, at);
        if (page->used + count + 1 > page->cap) {
            page->cap = page->used + (page->cap > 0); /* full from now on */
            return;
        }
        memcpy(page->out + page->used, piece + at, count);
        page->used += count;
        at += count;
    }
}

__attribute__((format(printf, 2, 3))) static void page_printf(struct page *page, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    int count = vsnprintf(piece, sizeof(piece), format, args);
    va_end(args);
    if (count > 0)
        page_put(page, piece, (size_t)count < sizeof(piece) ? (size_t)count : sizeof(piece) - 1);
}

/* The line around ${place}, cut to a readable length, and a caret under the place. */
static void page_put_excerpt(struct page *page, const char *text, size_t len, const struct scan_place *place)
{
    size_t start = place->offset;
    size_t at, column = 1, caret = 0, shown = 0;
    size_t first = place->column > SHOWN_COLUMNS * 3 / 4 ? place->column - SHOWN_COLUMNS / 2 : 1;
    char shown_char[4];
    while (start > 0 && text[start - 1] != '\n')
        start--;
    page_printf(page, "\n%6zu | %s", place->line, first > 1 ? "…" : "");
    for (at = start; at < len && text[at] != '\n' && shown < SHOWN_COLUMNS; column++) {
        if (column >= first && !(text[at] == '\r' && at + 1 < len && text[at + 1] == '\n')) {
            page_put(page, shown_char, scan_place_copy_char(text, len, at, shown_char));
            shown++;
        }
        at += scan_place_char_len(text, len, at);
    }
    if (at < len && text[at] != '\n')
        page_put(page, "…", strlen("…"));
    page_put(page, "\n       | ", 10);
    for (caret = first - (first > 1); caret < place->column; caret++)
        page_put(page, " ", 1);
    page_put(page, "^", 1);
}

static const char *fault_sentence(enum scan_fault fault)
{
    static const char *const sentences[] = {
        [SCAN_VALID] = "",
        [SCAN_UNMATCHED_CLOSE] =
            "a `)` closes nothing: there is one `)` too many, or a `(` is missing before",
        [SCAN_UNCLOSED_LIST] = "a list is never closed",
        [SCAN_UNCLOSED_STRING] = "a string is never closed",
        [SCAN_UNCLOSED_COMMENT] = "a block comment is never closed",
        [SCAN_UNCLOSED_BAR] = "a `|` is never closed by another",
        [SCAN_UNCLOSED_ESCAPE] = "the text ends in the middle of an escape",
        [SCAN_DANGLING_PREFIX] = "nothing follows a prefix that needs a datum after it",
        [SCAN_STRAY_DOT] = "a dot is not between the last two data of a list",
        [SCAN_TOO_MANY_DOTS] = "a token of nothing but dots cannot be read",
        [SCAN_STRAY_COMMA] = "a comma is not inside a backquote (a `)` before it may close too much)",
        [SCAN_UNREADABLE] = "`#<` begins something printed that cannot be read back",
        [SCAN_STRAY_SHARP] = "nothing the reader knows follows a `#`",
    };
    return sentences[fault];
}

static void put_form(struct page *page, const struct scan_result *result)
{
    const struct scan_form *form = &result->form;
    if (form->start.line == 0) {
        page_printf(page, "\n\nNo top-level form is open there.");
        return;
    }
    if (form->end.line == 0) {
        page_printf(page, "\n\nOpen form: %s, from line %zu.", form->head, form->start.line);
        return;
    }
    page_printf(page, "\n\nIn or after the form: %s, from line %zu; it ended at line %zu, column %zu.",
                form->head, form->start.line, form->end.line, form->end.column);
    if (result->previous.start.line > 0 && result->previous.start.offset != form->start.offset)
        page_printf(page, "\nThe last datum before it: %s, at line %zu, column %zu.", result->previous.head,
                    result->previous.start.line, result->previous.start.column);
}

static void explain_unclosed_list(struct page *page, const struct scan_result *result, const char *text,
                                  size_t len)
{
    const struct scan_form *open = result->inner.start.line > 0 ? &result->inner : &result->form;
    if (result->depth > 0)
        page_printf(page,
                    "✗ Syntax invalid: a list is never closed; at the end of the text %zu `)` %s missing",
                    result->depth, result->depth == 1 ? "is" : "are");
    else
        page_printf(page, "✗ The parentheses balance, but one definition starts in column 1 inside another");
    page_printf(page, "\n\nOpen form: %s, from line %zu.", result->form.head, result->form.start.line);
    if (result->restart.start.line > 0) {
        page_printf(page,
                    "\nThe form at line %zu, %s, is still open where a new top-level form seems to start at "
                    "line %zu:",
                    open->start.line, open->head, result->restart.start.line);
        page_put_excerpt(page, text, len, &result->restart.start);
    }
    page_printf(page, "\nInnermost open parenthesis%s: line %zu, column %zu:",
                result->restart.start.line > 0 ? " there" : "", result->innermost.line,
                result->innermost.column);
    page_put_excerpt(page, text, len, &result->innermost);
    if (result->suspect.line > 0) {
        page_printf(page, "\nBy the indentation, `)` is probably missing after line %zu, column %zu:",
                    result->suspect.line, result->suspect.column);
        page_put_excerpt(page, text, len, &result->suspect);
    }
}

static void explain_other_fault(struct page *page, const struct scan_result *result, const char *text,
                                size_t len)
{
    page_printf(page, "✗ Syntax invalid: %s", fault_sentence(result->fault));
    page_printf(page, "\n\nLine %zu, column %zu:", result->at.line, result->at.column);
    page_put_excerpt(page, text, len, &result->at);
    put_form(page, result);
    if (result->suspect.line > 0) {
        page_printf(page,
                    "\nBy the indentation, the `)` at line %zu, column %zu is probably the one too many:",
                    result->suspect.line, result->suspect.column);
        page_put_excerpt(page, text, len, &result->suspect);
    }
}

/* Models write code as Markdown shows it; the closing line is three prefixes without a datum. */
static bool ends_with_fence(const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    return len >= 3 && memcmp(text + len - 3, "```", 3) == 0;
}

void scan_explain(const struct scan_result *result, const char *text, size_t len, char *out, size_t cap)
{
    struct page page = {.out = out, .cap = cap};
    if (result->fault == SCAN_VALID)
        page_printf(&page, "✓ Syntax valid: %zu top-level form(s)", result->forms);
    else if (result->fault == SCAN_UNCLOSED_LIST)
        explain_unclosed_list(&page, result, text, len);
    else
        explain_other_fault(&page, result, text, len);
    if (result->runaway.line > 0 && result->fault != SCAN_VALID) {
        page_printf(&page,
                    "\nA closing quote or `|#` may be missing: what begins at line %zu, column %zu runs over "
                    "line %zu, which looks like the start of a form:",
                    result->runaway.line, result->runaway.column, result->runaway_line.line);
        page_put_excerpt(&page, text, len, &result->runaway);
    }
    if (result->fault == SCAN_DANGLING_PREFIX && ends_with_fence(text, len))
        page_printf(&page, "\nThe code stands between ``` lines of Markdown. Send it without them.");
    page_end(&page);
}

void scan_match_explain(const struct scan_match *match, size_t line, size_t column, const char *text,
                        size_t len, char *out, size_t cap)
{
    struct page page = {.out = out, .cap = cap};
    switch (match->status) {
    case SCAN_MATCH_FOUND:
        page_printf(&page, "`%c` at line %zu, column %zu matches `%c` at line %zu, column %zu:",
                    text[match->paren.offset], line, column, text[match->partner.offset], match->partner.line,
                    match->partner.column);
        page_put_excerpt(&page, text, len, &match->partner);
        break;
    case SCAN_MATCH_UNMATCHED:
        page_printf(&page, "`%c` at line %zu, column %zu has no partner:", text[match->paren.offset], line,
                    column);
        page_put_excerpt(&page, text, len, &match->paren);
        break;
    case SCAN_MATCH_NO_PAREN:
        page_printf(&page, "There is no parenthesis at line %zu, column %zu.", line, column);
        break;
    case SCAN_MATCH_IN_TEXT:
        page_printf(&page,
                    "The parenthesis at line %zu, column %zu is inside a string, a comment, a character or a "
                    "|symbol|.",
                    line, column);
        break;
    }
    if (match->nearest.line > 0) {
        page_printf(&page, "\nThe nearest one on that line is at column %zu:", match->nearest.column);
        page_put_excerpt(&page, text, len, &match->nearest);
    }
    page_end(&page);
}
