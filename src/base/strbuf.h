/*
 * A growing byte buffer with a cap.
 *
 * Invariants: (1) bytes[len] is NUL whenever bytes is not NULL; (2) len <= limit when limit is not 0;
 * (3) once is_overflown is set, nothing more is added until strbuf_clear.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *bytes;       /* owned; NULL until something is added */
    size_t len;        /* bytes in use, without the NUL */
    size_t capacity;   /* bytes allocated */
    size_t limit;      /* maximum len; 0 for no cap */
    size_t settled;    /* how many of the first bytes report/section.c has checked */
    bool is_overflown; /* something did not fit and was omitted */
};

/* strbuf_init(b, limit): an empty buffer; limit in bytes, 0 for none. All other members of an empty one are
 * zero, so a variable is declared as such: struct strbuf b = {0}, or {.limit = n}. strbuf_fini(b): free its
 * memory. */
void strbuf_init(struct strbuf *b, size_t limit);
void strbuf_fini(struct strbuf *b);

/* strbuf_clear(b): empty it but keep its memory; resets is_overflown. */
void strbuf_clear(struct strbuf *b);

/*
 * strbuf_add(b, bytes, len), strbuf_adds(b, s), strbuf_addc(b, c), strbuf_addf(b, format, ...),
 * strbuf_vaddf(b, format, arguments):
 * Append. If the cap would be exceeded, append nothing, set is_overflown and return false.
 */
bool strbuf_add(struct strbuf *b, const void *bytes, size_t len);
bool strbuf_adds(struct strbuf *b, const char *s);
bool strbuf_addc(struct strbuf *b, char c);
bool strbuf_addf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool strbuf_vaddf(struct strbuf *b, const char *format, va_list arguments);

/* strbuf_reserve(b, len): make room for len more bytes at bytes+len; NULL if that exceeds the cap.
 * strbuf_added(b, len): the caller has written len bytes there. */
char *strbuf_reserve(struct strbuf *b, size_t len);
void strbuf_added(struct strbuf *b, size_t len);

/* strbuf_consume(b, len): remove the first len bytes, or all if there are fewer. */
void strbuf_consume(struct strbuf *b, size_t len);

/* strbuf_string(b): borrowed, never NULL, NUL-terminated. strbuf_steal(b, &len): given (free() it); the
 * buffer is empty again. */
const char *strbuf_string(const struct strbuf *b);
char *strbuf_steal(struct strbuf *b, size_t *len);

/* strbuf_format(format, ...): the text alone; given. */
char *strbuf_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
