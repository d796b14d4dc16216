/*
 * Responsible for finding frames in a byte stream and for writing their lengths. Their contents are
 * sexp.c's.
 */
#include "wire/frame.h"

#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "wire/sexp.h"

const struct frame_format frame_agent = {.digits = 8, .most = SEXP_MAX_PAYLOAD};
/* Six digits can say no more than the parser takes. Swank writes capitals, SLIME small letters. */
const struct frame_format frame_swank = {.digits = 6, .has_capitals = true, .most = SEXP_MAX_PAYLOAD - 1};

static int digit_value(const struct frame_format *format, char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (format->has_capitals && c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

struct frame_result frame_scan(const struct frame_format *format, const char *bytes, size_t len)
{
    struct frame_result result = {.status = FRAME_PARTIAL};
    uint32_t payload_len = 0;
    for (size_t i = 0; i < format->digits && i < len; i++) {
        int value = digit_value(format, bytes[i]);
        if (value < 0) {
            result.status = FRAME_MALFORMED;
            return result;
        }
        payload_len = payload_len << 4 | (uint32_t)value;
    }
    if (len < format->digits)
        return result;
    if (payload_len > format->most) {
        result.status = FRAME_MALFORMED;
        return result;
    }
    if (len - format->digits < payload_len)
        return result;
    result.status = FRAME_COMPLETE;
    result.payload = bytes + format->digits;
    result.payload_len = payload_len;
    result.consumed = format->digits + (size_t)payload_len;
    return result;
}

size_t frame_begin(const struct frame_format *format, struct strbuf *out)
{
    size_t at = out->len;
    /* sexp_write puts a space before a value unless it follows a parenthesis. */
    CHECK(format->digits <= FRAME_MOST_DIGITS);
    strbuf_add(out, "((((((((", format->digits);
    return at;
}

void frame_end(const struct frame_format *format, struct strbuf *out, size_t at)
{
    static const char digits[] = "0123456789abcdef";
    CHECK(at <= out->len);
    if (!out->is_overflown) {
        CHECK(out->len - at >= format->digits);
        size_t payload_len = out->len - at - format->digits;
        if (payload_len <= format->most) {
            for (size_t i = 0; i < format->digits; i++)
                out->bytes[at + i] = digits[payload_len >> (4 * (format->digits - 1 - i)) & 0xf];
            return;
        }
        out->is_overflown = true;
    }
    /* Half a frame must never be sent. */
    if (out->bytes != NULL) {
        out->len = at;
        out->bytes[at] = '\0';
    }
}
