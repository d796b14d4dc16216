/*
 * Takes out of text what looks like a credential: keys with the well-known beginnings, private keys,
 * passwords in URLs, and what is given to a name such as PASSWORD or api-key. It looks at the text alone, so
 * it can miss one, and can take a harmless string for one.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include "base/strbuf.h"

/* redact(out, text, len): append the text with "[redacted]" in the place of each credential. Valid UTF-8
 * stays valid. Takes time in proportion to ${len}. */
void redact(struct strbuf *out, const char *text, size_t len);

#endif
