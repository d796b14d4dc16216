/*
 * What a Lisp printed during one call. The head and the tail are kept, the middle only while there is room;
 * the byte count is exact.
 *
 * Invariants: (1) head holds the first min(total, part) bytes; (2) while total <= part there is no tail;
 * (3) otherwise tail is a ring with the last min(total - part, part) bytes, its oldest byte at tail_start.
 */
#ifndef SESSION_OUTPUT_CAPTURE_H
#define SESSION_OUTPUT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define CAPTURE_PART ((size_t)1 << 20)

struct capture {
    struct strbuf head;
    size_t part; /* the most bytes of the head, and of the tail */
    char *tail;  /* NULL until the head is full; ${part} bytes */
    size_t tail_start, tail_len;
    uint64_t total;  /* bytes ever added */
    bool is_printed; /* by a program, for a terminal: readers get what terminal_text_add() makes of it */
};

/* capture_init(c), capture_fini(c): on the caller's memory. capture_init_small(c, part): of head and tail at
 * most ${part} bytes each are kept, not CAPTURE_PART. capture_move(to, from): ${from} is empty afterwards. */
void capture_init(struct capture *c);
void capture_init_small(struct capture *c, size_t part);
void capture_fini(struct capture *c);
void capture_move(struct capture *to, struct capture *from);

/* capture_copy(to, from): ${to} is initialized. */
void capture_copy(struct capture *to, const struct capture *from);

/* capture_bytes(c): the memory that it occupies. */
size_t capture_bytes(const struct capture *c);

/* capture_is_blank(c): is it empty, or white space? */
bool capture_is_blank(const struct capture *c);

/* capture_add(c, bytes, len): append what was printed. */
void capture_add(struct capture *c, const char *bytes, size_t len);

/* capture_cut(c, total): discard what came after the first ${total} bytes. Returns false and changes
 * nothing if the middle is no longer kept. */
bool capture_cut(struct capture *c, uint64_t total);

/* capture_redact(c): replace what looks like a credential by marks of the same length. */
void capture_redact(struct capture *c);

/* capture_read(c, offset, out, len): copy up to ${len} bytes from ${offset} on, stopping where they are no
 * longer kept. Returns the number copied; 0 at the end or inside the gap. */
size_t capture_read(const struct capture *c, uint64_t offset, char *out, size_t len);

/* capture_floor(c, offset): ${offset}, or the beginning of a character or an escape sequence of which only
 * the beginning is before it. */
uint64_t capture_floor(const struct capture *c, uint64_t offset);

/* capture_last_line(c, out, most, redacts): append the last line that is not blank, at most ${most} bytes of
 * it, as valid UTF-8; a character that has not arrived whole is left out. Appends nothing if no such line is
 * near the end. With ${redacts} credentials are marked, also those that only the lines before show to be
 * one. */
void capture_last_line(const struct capture *c, struct strbuf *out, size_t most, bool redacts);

/* capture_gap(c, start, end): the range of bytes that are no longer kept; false if all are kept. */
bool capture_gap(const struct capture *c, uint64_t *start, uint64_t *end);

/* capture_add_text(c, from, to, out): append those bytes, which are kept, as readers get them, or as they are
 * if the capture was not printed. Returns true if that leaves something out. */
bool capture_add_text(const struct capture *c, uint64_t from, uint64_t to, struct strbuf *out);

#endif
