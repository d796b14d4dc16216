/*
 * Formats numbers and lines for people, and reads digits.
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

void text_add_column(struct strbuf *out, int64_t n, int width)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    text_add_grouped(&text, n < 0 ? 0 : (uint64_t)n);
    strbuf_addf(out, "%*s", width, strbuf_string(&text));
    strbuf_fini(&text);
}

void text_add_ms(struct strbuf *out, int64_t us, int width)
{
    uint64_t amount = us < 0 ? 0 : (uint64_t)us;
    text_add_column(out, (int64_t)(amount / 1000), width > 4 ? width - 4 : 0);
    strbuf_addf(out, ".%03u", (unsigned)(amount % 1000));
}

void text_add_time(struct strbuf *out, time_t when)
{
    struct tm utc;
    char text[32];
    gmtime_r(&when, &utc);
    strftime(text, sizeof text, "%H:%M:%SZ", &utc);
    strbuf_adds(out, text);
}

void text_add_date(struct strbuf *out, time_t when)
{
    struct tm utc;
    char text[32];
    gmtime_r(&when, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT", &utc);
    strbuf_adds(out, text);
    text_add_time(out, when);
}

void text_add_line(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++)
        strbuf_addc(out, *text == '\n' || *text == '\r' ? ' ' : *text);
}

int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}
