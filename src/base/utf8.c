/*
 * Responsible for distinguishing UTF-8 from other bytes (Unicode 15, table 3-7) and for repairing what is not
 * well-formed. Most text is ASCII, which is checked eight bytes at a time.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

static uint64_t load8(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/*
 * The character that starts at s (len > 0): its length if it is well-formed; otherwise 0, and *bad is the
 * length of the maximal ill-formed part, at least 1.
 */
static size_t character_len(const unsigned char *s, size_t len, size_t *bad)
{
    unsigned char lowest = 0x80, highest = 0xbf;
    *bad = 1;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t wanted = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    /* The second byte alone excludes overlong forms, surrogates and code points above U+10FFFF. */
    if (s[0] == 0xe0)
        lowest = 0xa0;
    else if (s[0] == 0xed)
        highest = 0x9f;
    else if (s[0] == 0xf0)
        lowest = 0x90;
    else if (s[0] == 0xf4)
        highest = 0x8f;
    for (size_t i = 1; i < wanted; i++) {
        *bad = i;
        if (i >= len || s[i] < lowest || s[i] > highest)
            return 0;
        lowest = 0x80;
        highest = 0xbf;
    }
    return wanted;
}

/* As utf8_valid_prefix; *bad is the length of the ill-formed part that follows, 0 if there is none. */
static size_t valid_prefix(const char *bytes, size_t len, size_t *bad)
{
    size_t at = 0;
    for (;;) {
        while (len - at >= 8 && !(load8(bytes + at) & EACH_BYTE(0x80)))
            at += 8;
        while (at < len && (unsigned char)bytes[at] < 0x80)
            at++;
        /* Text that has left ASCII tends to stay outside it for a while. */
        while (at < len && (unsigned char)bytes[at] >= 0x80) {
            size_t n = character_len((const unsigned char *)bytes + at, len - at, bad);
            if (n == 0)
                return at;
            at += n;
        }
        if (at == len)
            return at;
    }
}

size_t utf8_valid_prefix(const char *bytes, size_t len)
{
    size_t bad;
    return valid_prefix(bytes, len, &bad);
}

bool utf8_is_valid(const char *bytes, size_t len)
{
    return utf8_valid_prefix(bytes, len) == len;
}

/* Append as many whole characters of well-formed text as fit. */
static bool add_what_fits(struct strbuf *out, const char *bytes, size_t len)
{
    if (!out->is_overflown && out->limit && len > out->limit - out->len)
        strbuf_add(out, bytes, utf8_floor(bytes, len, out->limit - out->len));
    return strbuf_add(out, bytes, len);
}

bool utf8_repair(struct strbuf *out, const char *bytes, size_t len)
{
    size_t at = 0, bad = 0;
    for (;;) {
        size_t n = valid_prefix(bytes + at, len - at, &bad);
        if (!add_what_fits(out, bytes + at, n))
            return false;
        at += n;
        if (at == len)
            return true;
        if (!strbuf_add(out, "\xef\xbf\xbd", 3))
            return false;
        at += bad;
    }
}

void utf8_mask(char *bytes, size_t len)
{
    size_t at = 0, bad = 0;
    for (;;) {
        at += valid_prefix(bytes + at, len - at, &bad);
        if (at == len)
            return;
        memset(bytes + at, '?', bad);
        at += bad;
    }
}

bool utf8_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t utf8_floor(const char *bytes, size_t len, size_t at)
{
    if (at >= len)
        return len;
    if (!utf8_continues(bytes[at]))
        return at;
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        unsigned char lead = (unsigned char)bytes[at - back];
        if (utf8_continues(bytes[at - back]))
            continue;
        size_t n = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        return n > back ? at - back : at;
    }
    return at;
}

size_t utf8_byte_of(const char *bytes, size_t len, size_t n)
{
    size_t at = 0;
    for (; at < len && n > 0; n--) {
        do
            at++;
        while (at < len && utf8_continues(bytes[at]));
    }
    return at;
}
