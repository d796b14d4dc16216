/*
 * Formats numbers and lines for people, and reads digits.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

struct short_text text_grouped(uint64_t n)
{
    struct short_text text;
    size_t at = sizeof text.text - 1, digits = 0;
    text.text[at] = '\0';
    do {
        if (digits > 0 && digits % 3 == 0)
            text.text[--at] = ',';
        text.text[--at] = (char)('0' + n % 10);
        digits++;
    } while ((n /= 10) > 0);
    memmove(text.text, text.text + at, sizeof text.text - at);
    return text;
}

struct short_text text_count(uint64_t n, const char *singular)
{
    struct short_text text;
    snprintf(text.text, sizeof text.text, "%.26s %.30s%s", text_grouped(n).text, singular, n == 1 ? "" : "s");
    return text;
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

bool text_ends_line(uint32_t c)
{
    return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool text_moves_cursor(uint32_t c)
{
    return c == '\a' || c == '\b' || c == 0x1b || (c >= 0x80 && c < 0xa0);
}

uint32_t text_next_character(const char *text, size_t len, size_t *at)
{
    unsigned char lead = (unsigned char)text[(*at)++];
    if (lead >= 0xf8 || (lead >= 0x80 && lead < 0xc0))
        return 0xfffd;
    uint32_t c = lead < 0xc0 ? lead : lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
    for (int i = 0; i < 3 && lead >= 0xc0 && *at < len && utf8_continues(text[*at]); i++)
        c = c << 6 | ((unsigned char)text[(*at)++] & 0x3f);
    if (c != 0x1b && c != 0x9b)
        return c;
    bool is_csi = c == 0x9b || (*at < len && text[*at] == '[');
    *at += is_csi && c == 0x1b;
    while (*at < len && text[*at] >= ' ' && text[*at] <= (is_csi ? '?' : '/'))
        (*at)++;
    *at += *at < len && text[*at] >= '0' && text[*at] <= '~';
    return c;
}

void text_add_hanging(struct strbuf *out, const char *text, size_t len, const char *margin)
{
    for (size_t at = 0, from = 0; at < len; from = at) {
        uint32_t c = text_next_character(text, len, &at);
        strbuf_add(out, text + from, at - from);
        if ((text_ends_line(c) || text_moves_cursor(c)) && at < len && text[at] != '\n')
            strbuf_adds(out, margin);
    }
}

struct short_text text_column(int64_t n, int width)
{
    struct short_text text;
    snprintf(text.text, sizeof text.text, "%*s", width, text_grouped(n < 0 ? 0 : (uint64_t)n).text);
    return text;
}

struct short_text text_ms(int64_t us, int width)
{
    struct short_text text;
    uint64_t amount = us < 0 ? 0 : (uint64_t)us;
    snprintf(text.text, sizeof text.text, "%.58s.%03u",
             text_column((int64_t)(amount / 1000), width > 4 ? width - 4 : 0).text,
             (unsigned)(amount % 1000));
    return text;
}

struct short_text text_date(time_t when)
{
    struct short_text text;
    struct tm utc;
    gmtime_r(&when, &utc);
    strftime(text.text, sizeof text.text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

struct short_text text_time(time_t when)
{
    struct short_text text = text_date(when);
    const char *time = strchr(text.text, 'T') + 1;
    memmove(text.text, time, strlen(time) + 1);
    return text;
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

void text_write_base64(struct strbuf *out, const unsigned char *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        size_t count = len - i < 3 ? len - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (count > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (count > 2 ? bytes[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            strbuf_addc(out, k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=');
    }
}

bool text_add_base64(struct strbuf *out, const char *text, size_t len, const char *last)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(first, text[i], sizeof first - 1);
        if (digit == NULL && text[i] != last[0] && text[i] != last[1])
            return false;
        bits = bits << 6 | (digit != NULL ? (uint32_t)(digit - first) : text[i] == last[0] ? 62 : 63);
        count += 6;
        if (count >= 8) {
            count -= 8;
            strbuf_addc(out, (char)(bits >> count));
        }
    }
    return count < 6 && (bits & ((1u << count) - 1)) == 0; /* the unused bits of the last digit */
}
