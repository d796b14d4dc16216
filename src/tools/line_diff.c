/*
 * Responsible for the text of a diff. Where the texts differ, the nearest line that both have is taken for
 * the same line.
 */
#include "tools/line_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"

enum { CONTEXT = 1, MOST_AHEAD = 400 };

struct lines {
    const char *text;
    size_t *starts; /* of each line, and the end of the last one */
    size_t count;
};

static struct lines lines_of(const char *text, size_t len)
{
    size_t count = 1;
    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    struct lines lines = {.text = text, .starts = xcalloc(count + 1, sizeof *lines.starts)};
    for (size_t at = 0; at < len; lines.starts[++lines.count] = at) {
        const char *newline = memchr(text + at, '\n', len - at);
        at = newline == NULL ? len : (size_t)(newline - text) + 1;
    }
    return lines;
}

static bool is_same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
    size_t len = a->starts[i + 1] - a->starts[i];
    return len == b->starts[k + 1] - b->starts[k] &&
           memcmp(a->text + a->starts[i], b->text + b->starts[k], len) == 0;
}

/* Step to the nearest pair of same lines from ${i} and ${k} on; to both ends if none is near. */
static void skip_to_same(const struct lines *a, size_t *i, const struct lines *b, size_t *k)
{
    for (size_t ahead = 0; ahead <= MOST_AHEAD; ahead++)
        for (size_t of_b = 0; of_b <= ahead; of_b++) {
            size_t at_a = *i + ahead - of_b, at_b = *k + of_b;
            if (at_a < a->count && at_b < b->count && is_same(a, at_a, b, at_b)) {
                *i = at_a;
                *k = at_b;
                return;
            }
        }
    *i = a->count;
    *k = b->count;
}

static void add_marks(struct strbuf *marks, char mark, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addc(marks, mark);
}

/* A character for each line of the diff, as it begins there. */
static void compare(const struct lines *old, const struct lines *new, struct strbuf *marks)
{
    struct lines a = *old, b = *new; /* without the lines that both end with */
    while (a.count > 0 && b.count > 0 && is_same(&a, a.count - 1, &b, b.count - 1)) {
        a.count--;
        b.count--;
    }
    for (size_t i = 0, k = 0; i < a.count || k < b.count;) {
        size_t from_a = i, from_b = k;
        skip_to_same(&a, &i, &b, &k);
        add_marks(marks, '-', i - from_a);
        add_marks(marks, '+', k - from_b);
        for (; i < a.count && k < b.count && is_same(&a, i, &b, k); i++, k++)
            strbuf_addc(marks, ' ');
    }
    add_marks(marks, ' ', old->count - a.count);
}

/* The end of the hunk that begins to differ at ${at}: two with less than their context between them are one.
 */
static size_t hunk_end(const struct strbuf *marks, size_t at)
{
    size_t end = at + 1;
    for (size_t i = at; i < marks->len && i < end + 2 * CONTEXT; i++)
        if (marks->bytes[i] != ' ')
            end = i + 1;
    return end + CONTEXT < marks->len ? end + CONTEXT : marks->len;
}

static void add_line(struct strbuf *out, char mark, const struct lines *lines, size_t i)
{
    size_t at = lines->starts[i], end = lines->starts[i + 1];
    while (end > at && (lines->text[end - 1] == '\n' || lines->text[end - 1] == '\r'))
        end--;
    strbuf_addc(out, mark);
    utf8_repair(out, lines->text + at, end - at);
    strbuf_addc(out, '\n');
}

void line_diff_add(struct strbuf *out, const char *before, size_t before_len, const char *after,
                   size_t after_len, size_t most)
{
    struct lines old = lines_of(before, before_len), new = lines_of(after, after_len);
    struct strbuf marks = {0};
    compare(&old, &new, &marks);
    size_t start = out->len, i = 0, k = 0, end = 0, left_out = 0;
    for (size_t at = 0; at < marks.len; at++) {
        if (at >= end && marks.bytes[at] != ' ') {
            size_t lead = at - end < CONTEXT ? at - end : CONTEXT, of_old = 0, of_new = 0;
            at -= lead, i -= lead, k -= lead;
            end = hunk_end(&marks, at + lead);
            for (size_t n = at; n < end; n++) {
                of_old += marks.bytes[n] != '+';
                of_new += marks.bytes[n] != '-';
            }
            strbuf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", i + 1, of_old, k + 1, of_new);
        }
        char mark = marks.bytes[at];
        if (at < end && out->len - start > most)
            left_out++;
        else if (at < end)
            add_line(out, mark, mark == '+' ? &new : &old, mark == '+' ? k : i);
        i += mark != '+';
        k += mark != '-';
    }
    if (left_out > 0)
        strbuf_addf(out, "[… %zu more lines]\n", left_out);
    strbuf_fini(&marks);
    free(old.starts);
    free(new.starts);
}
