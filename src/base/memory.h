/*
 * Allocation of sizes that the server chooses: if memory runs out, the program ends. Sizes that input
 * determines go through a capped strbuf instead.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* xmalloc(size), xcalloc(count, size), xrealloc(old, size): given memory, never NULL. xcalloc checks the
 * product. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);

/* xstrdup(s): a given copy; NULL for NULL. xmemdup0(bytes, len): a given copy with a NUL behind it. */
char *xstrdup(const char *s);
char *xmemdup0(const void *bytes, size_t len);

/* xstrset(text, s): free the string ${*text} and put a copy of ${s}, which may be a part of it, in its place;
 * NULL for NULL. */
void xstrset(char **text, const char *s);

#endif
