/*
 * Captured output, bounded while it streams.
 */
#include "session/output/capture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/utf8.h"

void capture_init_small(struct capture *c, size_t part)
{
    *c = (struct capture){.part = part};
    strbuf_init(&c->head, part);
}

void capture_init(struct capture *c)
{
    capture_init_small(c, CAPTURE_PART);
}

void capture_fini(struct capture *c)
{
    strbuf_fini(&c->head);
    free(c->tail);
    capture_init_small(c, c->part);
}

void capture_move(struct capture *to, struct capture *from)
{
    *to = *from;
    capture_init_small(from, from->part);
}

void capture_copy(struct capture *to, const struct capture *from)
{
    *to = *from;
    strbuf_init(&to->head, from->part);
    strbuf_add(&to->head, from->head.bytes, from->head.len);
    if (from->tail != NULL) {
        to->tail = xmalloc(from->part);
        memcpy(to->tail, from->tail, from->part);
    }
}

size_t capture_bytes(const struct capture *c)
{
    return c->head.capacity + (c->tail != NULL ? c->part : 0);
}

bool capture_is_blank(const struct capture *c)
{
    return c->tail == NULL && strspn(strbuf_string(&c->head), " \t\r\n") == c->head.len;
}

static void add_to_tail(struct capture *c, const char *bytes, size_t len)
{
    if (c->tail == NULL)
        c->tail = xmalloc(c->part);
    if (len > c->part) {
        bytes += len - c->part;
        len = c->part;
    }
    size_t end = (c->tail_start + c->tail_len) % c->part;
    size_t first = len < c->part - end ? len : c->part - end;
    memcpy(c->tail + end, bytes, first);
    memcpy(c->tail, bytes + first, len - first);
    size_t grown = c->tail_len + len;
    if (grown > c->part) {
        c->tail_start = (c->tail_start + grown - c->part) % c->part;
        grown = c->part;
    }
    c->tail_len = grown;
}

void capture_add(struct capture *c, const char *bytes, size_t len)
{
    size_t room = c->part - c->head.len;
    size_t first = len < room ? len : room;
    c->total += len;
    strbuf_add(&c->head, bytes, first);
    if (len > first)
        add_to_tail(c, bytes + first, len - first);
}

bool capture_cut(struct capture *c, uint64_t total)
{
    if (c->tail != NULL || total > c->total)
        return false;
    struct strbuf kept = {.limit = c->part};
    strbuf_add(&kept, c->head.bytes, (size_t)total);
    strbuf_fini(&c->head);
    c->head = kept;
    c->total = total;
    return true;
}

bool capture_gap(const struct capture *c, uint64_t *start, uint64_t *end)
{
    *start = c->head.len;
    *end = c->total - c->tail_len;
    return *end > *start;
}

size_t capture_read(const struct capture *c, uint64_t offset, char *out, size_t len)
{
    size_t done = 0;
    if (offset < c->head.len) {
        done = c->head.len - (size_t)offset < len ? c->head.len - (size_t)offset : len;
        memcpy(out, c->head.bytes + offset, done);
        offset += done;
    }
    uint64_t tail_from = c->total - c->tail_len;
    while (done < len && offset >= tail_from && offset < c->total) {
        size_t at = (c->tail_start + (size_t)(offset - tail_from)) % c->part;
        size_t n = c->part - at;
        if (n > c->total - offset)
            n = (size_t)(c->total - offset);
        if (n > len - done)
            n = len - done;
        memcpy(out + done, c->tail + at, n);
        done += n;
        offset += n;
    }
    return done;
}

uint64_t capture_floor(const struct capture *c, uint64_t offset)
{
    char bytes[4];
    size_t n = offset < 3 ? (size_t)offset : 3;
    n = capture_read(c, offset - n, bytes, n);
    bytes[n] = '\x80'; /* continues what can be continued */
    return offset - (n - utf8_floor(bytes, n + 1, n));
}

void capture_redact(struct capture *c)
{
    uint64_t gap_start, gap_end;
    size_t head = c->head.len, len = head + c->tail_len;
    if (len == 0)
        return;
    char *all = xmalloc(len);
    bool is_cut = capture_gap(c, &gap_start, &gap_end);
    capture_read(c, 0, all, head);
    capture_read(c, c->total - c->tail_len, all + head, c->tail_len);
    redact_in_place(all, is_cut ? head : len, false);
    if (is_cut)
        redact_in_place(all + head, c->tail_len, true);
    memcpy(c->head.bytes, all, head);
    if (c->tail != NULL)
        memcpy(c->tail, all + head, c->tail_len);
    c->tail_start = 0;
    free(all);
}

/* The last line may be unfinished: it shows how far the program has got. */
void capture_last_line(const struct capture *c, struct strbuf *out, size_t most, bool redacts)
{
    char bytes[2048];
    uint64_t end = capture_floor(c, c->total);
    size_t n = end < sizeof bytes ? (size_t)end : sizeof bytes, start;
    n = capture_read(c, end - n, bytes, n);
    if (redacts)
        redact_in_place(bytes, n, n < end);
    while (n > 0 && strchr(" \t\r\n", bytes[n - 1]) != NULL)
        n--;
    for (start = n; start > 0 && bytes[start - 1] != '\n' && bytes[start - 1] != '\r'; start--)
        continue;
    while (start < n && (bytes[start] & 0xC0) == 0x80)
        start++; /* continuation bytes of a character whose beginning was dropped */
    size_t len = n - start;
    utf8_repair(out, bytes + start, len > most ? utf8_floor(bytes + start, len, most) : len);
}

/* Continuation bytes are 10xxxxxx. */
static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

bool capture_show(const struct capture *c, struct strbuf *out, size_t most, int ref)
{
    uint64_t gap_start, gap_end;
    if (c->total <= most && !capture_gap(c, &gap_start, &gap_end)) {
        char *all = xmalloc((size_t)c->total + 1);
        utf8_repair(out, all, capture_read(c, 0, all, (size_t)c->total));
        free(all);
        return false;
    }
    size_t head = most * 2 / 3, tail = most - head;
    if (head > c->part)
        head = c->part;
    if (tail > c->part)
        tail = c->part;
    char *bytes = xmalloc(head > tail ? head : tail);
    size_t n = capture_read(c, 0, bytes, head);
    /* A character has at most three continuation bytes. */
    for (int back = 0; back < 3 && n > 0 && n < c->head.len && !begins_character(c->head.bytes[n]); back++)
        n--;
    const char *newline = n > 200 ? memrchr(bytes + n - 200, '\n', 200) : NULL;
    if (newline != NULL)
        n = (size_t)(newline - bytes) + 1;
    utf8_repair(out, bytes, n);
    size_t from = capture_read(c, c->total - tail, bytes, tail), start = 0;
    while (start < from && start < 4 && !begins_character(bytes[start]))
        start++;
    newline = from > 400 ? memchr(bytes + start, '\n', 200) : NULL;
    if (newline != NULL)
        start = (size_t)(newline - bytes) + 1;
    if (out->len > 0 && out->bytes[out->len - 1] != '\n')
        strbuf_addc(out, '\n');
    strbuf_addf(out, "[… %s of %s bytes left out; get-output ref %d …]\n",
                text_grouped(c->total - n - (from - start)).text, text_grouped(c->total).text, ref);
    for (n = start; n < from && !isgraph((unsigned char)bytes[n]); n++)
        continue;
    if (newline == NULL && n < from && bytes[n] == '[')
        strbuf_adds(out, "…"); /* what follows was not the beginning of a line */
    utf8_repair(out, bytes + start, from - start);
    free(bytes);
    return true;
}
