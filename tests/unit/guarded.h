/*
 * Bytes that end exactly where the readable memory ends: whoever reads one too many gets a SIGSEGV.
 */
#ifndef UNIT_GUARDED_H
#define UNIT_GUARDED_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    char *bytes; /* the copy; the byte at bytes[len] cannot be touched */
    char *map;
    size_t map_len;
};

static inline struct guarded guarded_copy(const char *bytes, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct guarded g = {.map_len = (len + page - 1) / page * page + page};
    g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + g.map_len - page, page, PROT_NONE) != 0)
        abort();
    g.bytes = g.map + g.map_len - page - len;
    if (len > 0)
        memcpy(g.bytes, bytes, len);
    return g;
}

static inline void guarded_free(struct guarded *g)
{
    munmap(g->map, g->map_len);
}

#endif
