/*
 * Describes findings in words: first the verdict in one line; then the position, with its line and a
 * caret; then the open form; guesses come last and are marked as such.
 */
#include "scan/scan.h"

#include "base/strbuf.h"
#include "scan/scan_place.h"

#include <stdbool.h>
#include <string.h>

enum { SHOWN_COLUMNS = 100 };

/* The line around ${place}, cut to a readable length, and a caret under the place. */
static void add_excerpt(struct strbuf *out, const char *text, size_t len, const struct scan_place *place)
{
    size_t start = place->offset;
    size_t at, column = 1, shown = 0;
    size_t first = place->column > SHOWN_COLUMNS * 3 / 4 ? place->column - SHOWN_COLUMNS / 2 : 1;
    char shown_char[4];
    while (start > 0 && text[start - 1] != '\n')
        start--;
    strbuf_addf(out, "\n%6zu | %s", place->line, first > 1 ? "…" : "");
    for (at = start; at < len && text[at] != '\n' && shown < SHOWN_COLUMNS; column++) {
        if (column >= first && !(text[at] == '\r' && at + 1 < len && text[at + 1] == '\n')) {
            strbuf_add(out, shown_char, scan_place_copy_char(text, len, at, shown_char));
            shown++;
        }
        at += scan_place_char_len(text, len, at);
    }
    if (at < len && text[at] != '\n')
        strbuf_adds(out, "…");
    strbuf_adds(out, "\n       | ");
    strbuf_addf(out, "%*s", (int)(place->column - first + (first > 1) + 1), "^");
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

static void put_form(struct strbuf *out, const struct scan_result *result)
{
    const struct scan_form *form = &result->form;
    if (form->start.line == 0) {
        strbuf_addf(out, "\n\nNo top-level form is open there.");
        return;
    }
    if (form->end.line == 0) {
        strbuf_addf(out, "\n\nOpen form: %s, from line %zu.", form->head, form->start.line);
        return;
    }
    strbuf_addf(out, "\n\nIn or after the form: %s, from line %zu; it ended at line %zu, column %zu.",
                form->head, form->start.line, form->end.line, form->end.column);
    if (result->previous.start.line > 0 && result->previous.start.offset != form->start.offset)
        strbuf_addf(out, "\nThe last datum before it: %s, at line %zu, column %zu.", result->previous.head,
                    result->previous.start.line, result->previous.start.column);
}

static void explain_unclosed_list(struct strbuf *out, const struct scan_result *result, const char *text,
                                  size_t len)
{
    const struct scan_form *open = result->inner.start.line > 0 ? &result->inner : &result->form;
    if (result->depth > 0)
        strbuf_addf(out,
                    "✗ Syntax invalid: a list is never closed; at the end of the text %zu `)` %s missing",
                    result->depth, result->depth == 1 ? "is" : "are");
    else
        strbuf_addf(out, "✗ The parentheses balance, but one definition starts in column 1 inside another");
    strbuf_addf(out, "\n\nOpen form: %s, from line %zu.", result->form.head, result->form.start.line);
    if (result->restart.start.line > 0) {
        strbuf_addf(out,
                    "\nThe form at line %zu, %s, is still open where a new top-level form seems to start at "
                    "line %zu:",
                    open->start.line, open->head, result->restart.start.line);
        add_excerpt(out, text, len, &result->restart.start);
    }
    strbuf_addf(out, "\nInnermost open parenthesis%s: line %zu, column %zu:",
                result->restart.start.line > 0 ? " there" : "", result->innermost.line,
                result->innermost.column);
    add_excerpt(out, text, len, &result->innermost);
    if (result->suspect.line > 0) {
        strbuf_addf(out, "\nBy the indentation, `)` is probably missing after line %zu, column %zu:",
                    result->suspect.line, result->suspect.column);
        add_excerpt(out, text, len, &result->suspect);
    }
}

static void explain_other_fault(struct strbuf *out, const struct scan_result *result, const char *text,
                                size_t len)
{
    strbuf_addf(out, "✗ Syntax invalid: %s", fault_sentence(result->fault));
    strbuf_addf(out, "\n\nLine %zu, column %zu:", result->at.line, result->at.column);
    add_excerpt(out, text, len, &result->at);
    put_form(out, result);
    if (result->suspect.line > 0) {
        strbuf_addf(out,
                    "\nBy the indentation, the `)` at line %zu, column %zu is probably the one too many:",
                    result->suspect.line, result->suspect.column);
        add_excerpt(out, text, len, &result->suspect);
    }
}

/* Models write code as Markdown shows it; the closing line is three prefixes without a datum. */
static bool ends_with_fence(const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    return len >= 3 && memcmp(text + len - 3, "```", 3) == 0;
}

void scan_explain(const struct scan_result *result, const char *text, size_t len, struct strbuf *out)
{
    if (result->fault == SCAN_VALID)
        strbuf_addf(out, "✓ Syntax valid: %zu top-level form(s)", result->forms);
    else if (result->fault == SCAN_UNCLOSED_LIST)
        explain_unclosed_list(out, result, text, len);
    else
        explain_other_fault(out, result, text, len);
    if (result->runaway.line > 0 && result->fault != SCAN_VALID) {
        strbuf_addf(out,
                    "\nA closing quote or `|#` may be missing: what begins at line %zu, column %zu runs over "
                    "line %zu, which looks like the start of a form:",
                    result->runaway.line, result->runaway.column, result->runaway_line.line);
        add_excerpt(out, text, len, &result->runaway);
    }
    if (result->fault == SCAN_DANGLING_PREFIX && ends_with_fence(text, len))
        strbuf_addf(out, "\nThe code stands between ``` lines of Markdown. Send it without them.");
}

void scan_match_explain(const struct scan_match *match, size_t line, size_t column, const char *text,
                        size_t len, struct strbuf *out)
{
    switch (match->status) {
    case SCAN_MATCH_FOUND:
        strbuf_addf(out, "`%c` at line %zu, column %zu matches `%c` at line %zu, column %zu:",
                    text[match->paren.offset], line, column, text[match->partner.offset], match->partner.line,
                    match->partner.column);
        add_excerpt(out, text, len, &match->partner);
        break;
    case SCAN_MATCH_UNMATCHED:
        strbuf_addf(out, "`%c` at line %zu, column %zu has no partner:", text[match->paren.offset], line,
                    column);
        add_excerpt(out, text, len, &match->paren);
        break;
    case SCAN_MATCH_NO_PAREN:
        strbuf_addf(out, "There is no parenthesis at line %zu, column %zu.", line, column);
        break;
    case SCAN_MATCH_IN_TEXT:
        strbuf_addf(out,
                    "The parenthesis at line %zu, column %zu is inside a string, a comment, a character or a "
                    "|symbol|.",
                    line, column);
        break;
    }
    if (match->nearest.line > 0) {
        strbuf_addf(out, "\nThe nearest one on that line is at column %zu:", match->nearest.column);
        add_excerpt(out, text, len, &match->nearest);
    }
}
