/*
 * Responsible for the text of a diff. Lines that both texts share at the beginning and at the end are left
 * out.
 */
#include "tools/line_diff.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

enum { CONTEXT = 3 };

static size_t line_end(const char *text, size_t len, size_t at)
{
    const char *newline = memchr(text + at, '\n', len - at);
    return newline == NULL ? len : (size_t)(newline - text) + 1;
}

/* The start of the line before the one that starts at ${at} > 0. */
static size_t line_before(const char *text, size_t at)
{
    for (at--; at > 0 && text[at - 1] != '\n';)
        at--;
    return at;
}

static size_t count_lines(const char *text, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t at = from; at < to; at = line_end(text, to, at))
        count++;
    return count;
}

/* The lines from ${from} to ${to}, each after ${mark}, up to ${most} bytes; then the number of lines left
 * out. */
static void add_lines(struct strbuf *out, char mark, const char *text, size_t from, size_t to, size_t *most)
{
    for (size_t at = from; at < to;) {
        size_t end = line_end(text, to, at), shown = end;
        if (end - at > *most) {
            strbuf_addf(out, "[… %zu more lines]\n", count_lines(text, at, to));
            *most = 0;
            return;
        }
        *most -= end - at;
        while (shown > at && (text[shown - 1] == '\n' || text[shown - 1] == '\r'))
            shown--;
        strbuf_addc(out, mark);
        utf8_repair(out, text + at, shown - at);
        strbuf_addc(out, '\n');
        at = end;
    }
}

void line_diff_add(struct strbuf *out, const char *name, const char *before, size_t before_len,
                   const char *after, size_t after_len, size_t most)
{
    size_t shorter = before_len < after_len ? before_len : after_len, start = 0, tail = 0;
    while (start < shorter && before[start] == after[start])
        start++;
    if (start == before_len && start == after_len)
        return;
    while (start > 0 && before[start - 1] != '\n')
        start--;
    while (tail < shorter - start && before[before_len - 1 - tail] == after[after_len - 1 - tail])
        tail++;
    /* The common tail must begin at the start of a line in both texts. */
    while (tail > 0 && ((before_len > tail && before[before_len - tail - 1] != '\n') ||
                        (after_len > tail && after[after_len - tail - 1] != '\n')))
        tail--;
    size_t old_end = before_len - tail, new_end = after_len - tail, lead = start, trail = old_end;
    for (int i = 0; i < CONTEXT && lead > 0; i++)
        lead = line_before(before, lead);
    for (int i = 0; i < CONTEXT && trail < before_len; i++)
        trail = line_end(before, before_len, trail);
    size_t first = count_lines(before, 0, lead) + 1;
    size_t around = count_lines(before, lead, start) + count_lines(before, old_end, trail);
    strbuf_addf(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", name, name, first,
                around + count_lines(before, start, old_end), first,
                around + count_lines(after, start, new_end));
    size_t context = most;
    add_lines(out, ' ', before, lead, start, &context);
    add_lines(out, '-', before, start, old_end, &most);
    add_lines(out, '+', after, start, new_end, &most);
    add_lines(out, ' ', before, old_end, trail, &context);
}
