/*
 * Removes from text what looks like a credential: keys with well-known prefixes, private keys, passwords
 * in URLs, and values of names such as PASSWORD or api-key. Only the text is examined, so a credential can
 * be missed, and a harmless string can be removed.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stdbool.h>

#include "base/strbuf.h"

#define REDACTED "[redacted]"

/* redact(out, text, len): append the text with each credential replaced by "[redacted]". Valid UTF-8
 * stays valid. Takes time linear in ${len}. */
void redact(struct strbuf *out, const char *text, size_t len);

/* redact_in_place(text, len, is_cut): the same with marks of equal length, so that no position changes. Ends
 * of lines stay. With ${is_cut} the text begins after a cut: perhaps inside a private key. */
void redact_in_place(char *text, size_t len, bool is_cut);

/* redact_is_name(name): whether a variable of that name holds a credential. */
bool redact_is_name(const char *name);

#endif
