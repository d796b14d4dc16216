/*
 * Responsible for what replies show of an output.
 */
#include "report/output.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "session/output/capture.h"

/* The beginning of ${text}, of about ${most} bytes. */
static size_t begin_len(const struct strbuf *text, size_t most)
{
    size_t n = most < text->len ? most : text->len;
    /* A character has at most three continuation bytes. */
    for (int back = 0; back < 3 && n > 0 && n < text->len && utf8_continues(text->bytes[n]); back++)
        n--;
    const char *newline = n > 200 ? memrchr(text->bytes + n - 200, '\n', 200) : NULL;
    return newline != NULL ? (size_t)(newline - text->bytes) + 1 : n;
}

/* Where its end of about ${most} bytes begins. */
static size_t end_begin(const struct strbuf *text, size_t most)
{
    size_t len = most < text->len ? most : text->len, from = text->len - len, start = from;
    while (start < text->len && start < from + 4 && utf8_continues(text->bytes[start]))
        start++;
    const char *newline = len > 400 ? memchr(text->bytes + start, '\n', 200) : NULL;
    return newline != NULL ? (size_t)(newline - text->bytes) + 1 : start;
}

static void end_line(struct strbuf *out)
{
    if (out->len > 0 && out->bytes[out->len - 1] != '\n')
        strbuf_addc(out, '\n');
}

/* What readers get of an output of ${total} bytes: ${head} and ${tail}, which may be the same text. False:
 * that was all of it. */
static bool show_ends(struct strbuf *out, const struct strbuf *head, const struct strbuf *tail,
                      uint64_t total, size_t most, int ref)
{
    if (head == tail && head->len <= most) {
        utf8_repair(out, strbuf_string(head), head->len);
        return false;
    }
    size_t first = most * 2 / 3, begin = begin_len(head, first), end = end_begin(tail, most - first);
    uint64_t shown = begin + tail->len - end;
    utf8_repair(out, strbuf_string(head), begin);
    end_line(out);
    /* A count of repeats may be longer than they are. */
    strbuf_addf(out, "[… %s of %s bytes left out; get-output ref %d …]\n",
                text_grouped(total > shown ? total - shown : 0).text, text_grouped(total).text, ref);
    size_t seen = end;
    while (seen < tail->len && !isgraph((unsigned char)tail->bytes[seen]))
        seen++;
    if (seen < tail->len && tail->bytes[seen] == '[' && tail->bytes[end > 0 ? end - 1 : 0] != '\n')
        strbuf_adds(out, "…"); /* what follows was not the beginning of a line */
    utf8_repair(out, strbuf_string(tail) + end, tail->len - end);
    return true;
}

bool output_show(const struct capture *c, struct strbuf *out, size_t most, int ref)
{
    uint64_t start, end;
    struct strbuf head = {0}, tail = {0};
    bool has_gap = capture_gap(c, &start, &end);
    bool is_changed = capture_add_text(c, 0, has_gap ? start : c->total, &head);
    if (has_gap && capture_add_text(c, end, c->total, &tail))
        is_changed = true;
    bool is_cut = show_ends(out, &head, has_gap ? &tail : &head, c->total, most, ref);
    if (is_changed) {
        end_line(out);
        strbuf_addf(out, "[… cleaned for reading; get-output ref %d with raw: true returns every byte …]\n",
                    ref);
    }
    strbuf_fini(&head);
    strbuf_fini(&tail);
    return is_cut || is_changed;
}
