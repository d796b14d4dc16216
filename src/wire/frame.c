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

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

struct frame_result frame_scan(const char *bytes, size_t len)
{
    struct frame_result result = {.status = FRAME_PARTIAL};
    uint32_t payload_len = 0;
    for (size_t i = 0; i < FRAME_HEADER_LEN && i < len; i++) {
        int value = digit_value(bytes[i]);
        if (value < 0) {
            result.status = FRAME_MALFORMED;
            return result;
        }
        payload_len = payload_len << 4 | (uint32_t)value;
    }
    if (len < FRAME_HEADER_LEN)
        return result;
    if (payload_len > SEXP_MAX_PAYLOAD) {
        result.status = FRAME_MALFORMED;
        return result;
    }
    if (len - FRAME_HEADER_LEN < payload_len)
        return result;
    result.status = FRAME_COMPLETE;
    result.payload = bytes + FRAME_HEADER_LEN;
    result.payload_len = payload_len;
    result.consumed = FRAME_HEADER_LEN + (size_t)payload_len;
    return result;
}

size_t frame_begin(struct strbuf *out)
{
    size_t at = out->len;
    /* sexp_write puts a space before a value unless it follows a parenthesis. */
    strbuf_add(out, "((((((((", FRAME_HEADER_LEN);
    return at;
}

void frame_end(struct strbuf *out, size_t at)
{
    static const char digits[] = "0123456789abcdef";
    CHECK(at <= out->len);
    if (!out->is_overflown) {
        CHECK(out->len - at >= FRAME_HEADER_LEN);
        size_t payload_len = out->len - at - FRAME_HEADER_LEN;
        if (payload_len <= SEXP_MAX_PAYLOAD) {
            for (size_t i = 0; i < FRAME_HEADER_LEN; i++)
                out->bytes[at + i] = digits[payload_len >> (4 * (FRAME_HEADER_LEN - 1 - i)) & 0xf];
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
