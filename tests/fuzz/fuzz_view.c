/*
 * Any bytes as the head of a server's answer, and as a message that a view for reading only is to pass on.
 * Invariants: a head lies within the bytes, has a status, and contains no other head.
 */
#include "fuzz.h"
#include "base/memory.h"
#include "view/passage.h"
#include "view/read_only.h"

FUZZ(text, size)
{
    unsigned status = 0;
    const char *type = NULL;
    char *copy = xmemdup0(text, size);
    size_t len = passage_head(copy, size, &status, &type);
    if (len > 0) {
        CHECK(len <= size && memcmp(copy + len - 4, "\r\n\r\n", 4) == 0);
        CHECK(memmem(copy, len - 1, "\r\n\r\n", 4) == NULL);
        CHECK(status >= 200 && status < 600 && strchr(type, '/') != NULL);
    }
    free(copy);
    read_only_allows(text, size);
}
