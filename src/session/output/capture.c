/*
 * Captured output, bounded while it streams.
 */
#include "session/output/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/terminal_text.h"
#include "base/utf8.h"

#define LONGEST_SEQUENCE 1024 /* of those that capture_floor() looks for */

void capture_init_small(struct capture *c, size_t part)
{
    *c = (struct capture){.part = part};
    strbuf_init(&c->head, part);
}

/* It is of the same kind as before. */
static void empty(struct capture *c)
{
    bool is_printed = c->is_printed;
    capture_init_small(c, c->part);
    c->is_printed = is_printed;
}

void capture_init(struct capture *c)
{
    capture_init_small(c, CAPTURE_PART);
}

void capture_fini(struct capture *c)
{
    strbuf_fini(&c->head);
    free(c->tail);
    empty(c);
}

void capture_move(struct capture *to, struct capture *from)
{
    *to = *from;
    empty(from);
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
    offset -= n - utf8_floor(bytes, n + 1, n);
    if (!c->is_printed)
        return offset;
    char before[LONGEST_SEQUENCE];
    n = offset < sizeof before ? (size_t)offset : sizeof before;
    size_t read = capture_read(c, offset - n, before, n);
    return read < n ? offset : offset - (n - terminal_text_floor(before, n));
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

static bool add_readable(const struct capture *c, struct strbuf *out, const char *bytes, size_t len)
{
    if (c->is_printed)
        return terminal_text_add(out, bytes, len);
    strbuf_add(out, bytes, len);
    return false;
}

/* The last line may be unfinished: it shows how far the program has got. */
void capture_last_line(const struct capture *c, struct strbuf *out, size_t most, bool redacts)
{
    struct strbuf text = {0};
    char printed[2048];
    uint64_t end = capture_floor(c, c->total);
    size_t n = end < sizeof printed ? (size_t)end : sizeof printed, start;
    n = capture_read(c, end - n, printed, n);
    if (redacts)
        redact_in_place(printed, n, n < end);
    add_readable(c, &text, printed, n);
    const char *bytes = strbuf_string(&text);
    n = text.len;
    while (n > 0 && strchr(" \t\r\n", bytes[n - 1]) != NULL)
        n--;
    for (start = n; start > 0 && bytes[start - 1] != '\n' && bytes[start - 1] != '\r'; start--)
        continue;
    while (start < n && utf8_continues(bytes[start]))
        start++; /* continuation bytes of a character whose beginning was dropped */
    size_t len = n - start;
    utf8_repair(out, bytes + start, len > most ? utf8_floor(bytes + start, len, most) : len);
    strbuf_fini(&text);
}

bool capture_add_text(const struct capture *c, uint64_t from, uint64_t to, struct strbuf *out)
{
    size_t len = (size_t)(to - from);
    char *bytes = xmalloc(len + 1);
    bool is_changed = add_readable(c, out, bytes, capture_read(c, from, bytes, len));
    free(bytes);
    return is_changed;
}
