/*
 * Captured output, bounded while it streams.
 */
#include "session/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"

void capture_init(struct capture *c)
{
    *c = (struct capture){0};
    strbuf_init(&c->head, CAPTURE_HEAD);
}

void capture_fini(struct capture *c)
{
    strbuf_fini(&c->head);
    free(c->tail);
    capture_init(c);
}

void capture_move(struct capture *to, struct capture *from)
{
    *to = *from;
    capture_init(from);
}

size_t capture_bytes(const struct capture *c)
{
    return c->head.capacity + (c->tail != NULL ? CAPTURE_TAIL : 0);
}

static void add_to_tail(struct capture *c, const char *bytes, size_t len)
{
    if (c->tail == NULL)
        c->tail = xmalloc(CAPTURE_TAIL);
    if (len > CAPTURE_TAIL) {
        bytes += len - CAPTURE_TAIL;
        len = CAPTURE_TAIL;
    }
    size_t end = (c->tail_start + c->tail_len) % CAPTURE_TAIL;
    size_t first = len < CAPTURE_TAIL - end ? len : CAPTURE_TAIL - end;
    memcpy(c->tail + end, bytes, first);
    memcpy(c->tail, bytes + first, len - first);
    size_t grown = c->tail_len + len;
    if (grown > CAPTURE_TAIL) {
        c->tail_start = (c->tail_start + grown - CAPTURE_TAIL) % CAPTURE_TAIL;
        grown = CAPTURE_TAIL;
    }
    c->tail_len = grown;
}

void capture_add(struct capture *c, const char *bytes, size_t len)
{
    size_t room = CAPTURE_HEAD - c->head.len;
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
    struct strbuf kept;
    strbuf_init(&kept, CAPTURE_HEAD);
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
        size_t at = (c->tail_start + (size_t)(offset - tail_from)) % CAPTURE_TAIL;
        size_t n = CAPTURE_TAIL - at;
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

/* The last line may be unfinished: it shows how far the program has got. */
void capture_last_line(const struct capture *c, struct strbuf *out, size_t most)
{
    char bytes[2048];
    uint64_t end = capture_floor(c, c->total);
    size_t n = end < sizeof bytes ? (size_t)end : sizeof bytes, start;
    n = capture_read(c, end - n, bytes, n);
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
    if (head > CAPTURE_HEAD)
        head = CAPTURE_HEAD;
    if (tail > CAPTURE_TAIL)
        tail = CAPTURE_TAIL;
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
    strbuf_adds(out, "[… ");
    text_add_grouped(out, c->total - n - (from - start));
    strbuf_adds(out, " of ");
    text_add_grouped(out, c->total);
    strbuf_addf(out, " bytes left out; get-output ref %d …]\n", ref);
    utf8_repair(out, bytes + start, from - start);
    free(bytes);
    return true;
}
