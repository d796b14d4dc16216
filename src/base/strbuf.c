/*
 * Responsible for byte buffers that grow up to a cap. With a cap, a failed allocation counts as reaching it;
 * without one the server chooses the size, and a failure ends the program.
 */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"

#define SMALLEST_CAPACITY 64

void strbuf_init(struct strbuf *b, size_t limit)
{
    *b = (struct strbuf){.limit = limit};
}

void strbuf_fini(struct strbuf *b)
{
    free(b->bytes);
    strbuf_init(b, b->limit);
}

void strbuf_clear(struct strbuf *b)
{
    b->len = b->settled = 0;
    b->is_overflown = false;
    if (b->bytes != NULL)
        b->bytes[0] = '\0';
}

static bool overflow(struct strbuf *b)
{
    b->is_overflown = true;
    return false;
}

/* Make room for ${len} more bytes and the NUL. */
static bool grow(struct strbuf *b, size_t len)
{
    if (b->is_overflown)
        return false;
    if (len >= SIZE_MAX / 2 - b->len || (b->limit && len > b->limit - b->len))
        return overflow(b);
    size_t needed = b->len + len + 1;
    if (needed <= b->capacity)
        return true;
    size_t capacity = b->capacity < SMALLEST_CAPACITY / 2 ? SMALLEST_CAPACITY : 2 * b->capacity;
    if (capacity < needed)
        capacity = needed;
    if (b->limit && capacity > b->limit)
        capacity = b->limit + 1;
    char *bytes = b->limit ? realloc(b->bytes, capacity) : xrealloc(b->bytes, capacity);
    if (bytes == NULL)
        return overflow(b);
    b->bytes = bytes;
    b->capacity = capacity;
    b->bytes[b->len] = '\0';
    return true;
}

bool strbuf_add(struct strbuf *b, const void *bytes, size_t len)
{
    if (len == 0)
        return !b->is_overflown;
    if (!grow(b, len))
        return false;
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    b->bytes[b->len] = '\0';
    return true;
}

bool strbuf_adds(struct strbuf *b, const char *s)
{
    return strbuf_add(b, s, strlen(s));
}

bool strbuf_addc(struct strbuf *b, char c)
{
    return strbuf_add(b, &c, 1);
}

bool strbuf_addf(struct strbuf *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool is_added = strbuf_vaddf(b, format, arguments);
    va_end(arguments);
    return is_added;
}

bool strbuf_vaddf(struct strbuf *b, const char *format, va_list arguments)
{
    if (b->is_overflown)
        return false;
    if (b->bytes == NULL &&
        !grow(b, b->limit && b->limit < SMALLEST_CAPACITY ? b->limit : SMALLEST_CAPACITY - 1))
        return false;
    /* With a cap, this never exceeds the cap plus the NUL. */
    size_t room = b->capacity - b->len;
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(b->bytes + b->len, room, format, arguments);
    if (len >= 0 && (size_t)len >= room) {
        b->bytes[b->len] = '\0';
        if (!grow(b, (size_t)len)) {
            va_end(again);
            return false;
        }
        len = vsnprintf(b->bytes + b->len, b->capacity - b->len, format, again);
    }
    va_end(again);
    if (len < 0) {
        b->bytes[b->len] = '\0';
        return overflow(b);
    }
    b->len += (size_t)len;
    return true;
}

char *strbuf_reserve(struct strbuf *b, size_t len)
{
    return grow(b, len) ? b->bytes + b->len : NULL;
}

void strbuf_added(struct strbuf *b, size_t len)
{
    CHECK(b->bytes != NULL && len < b->capacity - b->len);
    CHECK(b->limit == 0 || len <= b->limit - b->len);
    b->len += len;
    b->bytes[b->len] = '\0';
}

void strbuf_consume(struct strbuf *b, size_t len)
{
    if (len > b->len)
        len = b->len;
    if (len == 0)
        return;
    b->len -= len;
    b->settled -= len < b->settled ? len : b->settled;
    memmove(b->bytes, b->bytes + len, b->len);
    b->bytes[b->len] = '\0';
}

const char *strbuf_string(const struct strbuf *b)
{
    return b->bytes != NULL ? b->bytes : "";
}

char *strbuf_steal(struct strbuf *b, size_t *len)
{
    char *bytes = b->bytes != NULL ? b->bytes : xmemdup0("", 0);
    if (len != NULL)
        *len = b->len;
    strbuf_init(b, b->limit);
    return bytes;
}

char *strbuf_format(const char *format, ...)
{
    struct strbuf b = {0};
    va_list arguments;
    va_start(arguments, format);
    strbuf_vaddf(&b, format, arguments);
    va_end(arguments);
    return strbuf_steal(&b, NULL);
}
