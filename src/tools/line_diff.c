/*
 * Responsible for the text of a diff. Where the texts differ, the nearest lines that both have are taken for
 * the same lines.
 */
#include "tools/line_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"

enum {
    LEAST_SAME = 3, /* fewer same lines between two changes belong to one: no line is context of both */
    MOST_AHEAD = 400
};

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

/* Do both go on with the same lines, or end there? */
static bool are_same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
    for (size_t n = 0; n < LEAST_SAME && (i + n < a->count || k + n < b->count); n++)
        if (i + n >= a->count || k + n >= b->count || !is_same(a, i + n, b, k + n))
            return false;
    return true;
}

/* Step to the nearest same lines from ${i} and ${k} on; to both ends if none are near. */
static void skip_to_same(const struct lines *a, size_t *i, const struct lines *b, size_t *k)
{
    for (size_t ahead = 0; ahead <= MOST_AHEAD; ahead++)
        for (size_t of_b = 0; of_b <= ahead; of_b++) {
            size_t at_a = *i + ahead - of_b, at_b = *k + of_b;
            if (at_a <= a->count && at_b <= b->count && are_same(a, at_a, b, at_b)) {
                *i = at_a;
                *k = at_b;
                return;
            }
        }
    *i = a->count;
    *k = b->count;
}

/* What is written, and how much of it. */
struct output {
    struct strbuf *text;
    size_t most_len, left_out;
};

static void add_lines(struct output *out, char mark, const struct lines *lines, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        size_t at = lines->starts[i], end = lines->starts[i + 1];
        if (out->text->len > out->most_len) {
            out->left_out += to - i;
            return;
        }
        while (end > at && (lines->text[end - 1] == '\n' || lines->text[end - 1] == '\r'))
            end--;
        strbuf_addc(out->text, mark);
        utf8_repair(out->text, lines->text + at, end - at);
        strbuf_addc(out->text, '\n');
    }
}

void line_diff_add(struct strbuf *out, const char *before, size_t before_len, const char *after,
                   size_t after_len, size_t most)
{
    struct lines old = lines_of(before, before_len), new = lines_of(after, after_len);
    struct lines a = old, b = new; /* without the lines that both end with */
    struct output output = {.text = out, .most_len = out->len + most};
    while (a.count > 0 && b.count > 0 && is_same(&a, a.count - 1, &b, b.count - 1)) {
        a.count--;
        b.count--;
    }
    for (size_t i = 0, k = 0;;) {
        while (i < a.count && k < b.count && is_same(&a, i, &b, k))
            i++, k++;
        if (i >= a.count && k >= b.count)
            break;
        size_t from_a = i, from_b = k;
        skip_to_same(&a, &i, &b, &k);
        size_t lead = from_a > 0 && from_b > 0, trail = i < old.count && k < new.count;
        strbuf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from_a - lead + 1, i - from_a + lead + trail,
                    from_b - lead + 1, k - from_b + lead + trail);
        add_lines(&output, ' ', &old, from_a - lead, from_a);
        add_lines(&output, '-', &old, from_a, i);
        add_lines(&output, '+', &new, from_b, k);
        add_lines(&output, ' ', &old, i, i + trail);
    }
    if (output.left_out > 0)
        strbuf_addf(out, "[… %zu more lines]\n", output.left_out);
    free(old.starts);
    free(new.starts);
}
