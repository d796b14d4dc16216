/*
 * Responsible for memory whose size the server chooses: allocation succeeds or the program ends.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* malloc(0) may return NULL without having failed, so at least one byte is requested. */
void *xmalloc(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    CHECK(memory != NULL && "out of memory");
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    void *memory = count && size ? calloc(count, size) : calloc(1, 1);
    CHECK(memory != NULL && "out of memory");
    return memory;
}

void *xrealloc(void *old, size_t size)
{
    void *memory = realloc(old, size > 0 ? size : 1);
    CHECK(memory != NULL && "out of memory");
    return memory;
}

char *xstrdup(const char *s)
{
    return s != NULL ? xmemdup0(s, strlen(s)) : NULL;
}

void xstrset(char **text, const char *s)
{
    char *old = *text;
    *text = xstrdup(s);
    free(old);
}

char *xmemdup0(const void *bytes, size_t len)
{
    CHECK(len < SIZE_MAX);
    char *copy = xmalloc(len + 1);
    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}
