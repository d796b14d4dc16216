/*
 * Numbers and lines as people read them.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

void text_add_grouped(struct strbuf *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            strbuf_addc(out, ',');
        strbuf_addc(out, digits[i]);
    }
}

void text_add_count(struct strbuf *out, uint64_t n, const char *singular)
{
    text_add_grouped(out, n);
    strbuf_addf(out, " %s%s", singular, n == 1 ? "" : "s");
}

void text_add_indented(struct strbuf *out, const char *text, unsigned long len, const char *indent)
{
    for (const char *end = text + len;;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline == NULL ? end : newline;
        if (stop > text)
            strbuf_adds(out, indent);
        strbuf_add(out, text, (size_t)(stop - text));
        if (newline == NULL)
            return;
        strbuf_addc(out, '\n');
        text = newline + 1;
    }
}
