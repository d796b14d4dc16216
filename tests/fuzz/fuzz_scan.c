/*
 * Any bytes through the scanner. Invariants: offsets are in the text, lines and columns match them, the
 * explanation fits its buffer and is printable, and a parenthesis is its partner's partner.
 */
#include "fuzz.h"
#include "base/strbuf.h"
#include "scan/scan.h"

static void check_place(const struct scan_place *place, const char *text, size_t size)
{
    size_t line = 1, start = 0;
    if (place->line == 0)
        return;
    CHECK(place->offset <= size && place->column >= 1);
    for (size_t i = 0; i < place->offset; i++) {
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    CHECK(place->line == line && place->column <= place->offset - start + 1);
}

static void check_form(const struct scan_form *form, const char *text, size_t size)
{
    check_place(&form->start, text, size);
    check_place(&form->end, text, size);
    CHECK(memchr(form->head, '\0', sizeof(form->head)) != NULL);
    CHECK(form->end.line == 0 || form->start.offset <= form->end.offset);
}

static void check_explanation(struct strbuf *out)
{
    for (size_t i = 0; i < out->len; i++)
        CHECK(out->bytes[i] == '\n' || ((unsigned char)out->bytes[i] >= 0x20 && out->bytes[i] != 0x7f));
    strbuf_fini(out);
}

static void check_match(const char *text, size_t size, size_t line, size_t column)
{
    struct strbuf out = {0};
    struct scan_match match = scan_match_paren(text, size, line, column);
    scan_match_explain(&match, line, column, text, size, &out);
    check_explanation(&out);
    check_place(&match.paren, text, size);
    check_place(&match.partner, text, size);
    check_place(&match.nearest, text, size);
    if (match.status == SCAN_MATCH_FOUND) {
        struct scan_match back = scan_match_paren(text, size, match.partner.line, match.partner.column);
        CHECK(back.status == SCAN_MATCH_FOUND && back.partner.offset == match.paren.offset);
    }
}

FUZZ(text, size)
{
    struct strbuf out = {0};
    struct scan_result result = scan_text(text, size);
    check_place(&result.at, text, size);
    check_form(&result.form, text, size);
    check_form(&result.previous, text, size);
    check_form(&result.restart, text, size);
    check_form(&result.inner, text, size);
    check_place(&result.innermost, text, size);
    check_place(&result.suspect, text, size);
    check_place(&result.runaway, text, size);
    check_place(&result.runaway_line, text, size);
    CHECK(result.fault == SCAN_VALID || result.at.line > 0);
    CHECK(result.fault != SCAN_UNCLOSED_LIST || (result.depth > 0 && text[result.innermost.offset] == '('));
    CHECK(result.fault != SCAN_UNMATCHED_CLOSE || (result.depth == 0 && text[result.at.offset] == ')'));
    scan_explain(&result, text, size, &out);
    check_explanation(&out);
    if (result.innermost.line > 0)
        check_match(text, size, result.innermost.line, result.innermost.column);
    if (result.at.line > 0)
        check_match(text, size, result.at.line, result.at.column);
    for (size_t i = 0; i < size && i < 8; i++)
        check_match(text, size, 1 + i % 3, 1 + (unsigned char)text[i] % 32);
}
