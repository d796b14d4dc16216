/*
 * A stream of bytes yields the same frames whether it arrives at once or byte by byte, is never read past its
 * end, and each frame found equals the one that would be written.
 */
#include <stdbool.h>

#include "fuzz.h"
#include "base/strbuf.h"
#include "wire/frame.h"
#include "wire/sexp.h"

/* The shortest prefix that allows an answer must yield the same one, and every shorter prefix "partial". */
static void check_beginnings(const char *bytes, size_t len, struct frame_result whole)
{
    size_t enough = whole.status == FRAME_COMPLETE ? whole.consumed : frame_agent.digits;
    bool is_seen = false;
    /* Long payloads are tried only near their ends. */
    for (size_t n = 0; n <= len && n <= enough; n = n == 64 && enough > 128 ? enough - 64 : n + 1) {
        char *copy = malloc(n ? n : 1);
        struct frame_result r;
        if (n > 0)
            memcpy(copy, bytes, n);
        r = frame_scan(&frame_agent, copy, n);
        free(copy);
        if (r.status == FRAME_PARTIAL) {
            CHECK(!is_seen);
        } else {
            CHECK(r.status == whole.status);
            CHECK(r.consumed == whole.consumed && r.payload_len == whole.payload_len);
            is_seen = true;
        }
    }
    CHECK(is_seen == (whole.status != FRAME_PARTIAL));
}

static void check_writing(struct frame_result r, const char *bytes)
{
    struct strbuf out;
    size_t at;
    strbuf_init(&out, 0);
    at = frame_begin(&frame_agent, &out);
    strbuf_add(&out, r.payload, r.payload_len);
    frame_end(&frame_agent, &out, at);
    CHECK(out.len == r.consumed && memcmp(out.bytes, bytes, out.len) == 0);
    strbuf_fini(&out);
}

FUZZ(bytes, size)
{
    size_t at = 0;
    for (;;) {
        struct frame_result r = frame_scan(&frame_agent, bytes + at, size - at);
        check_beginnings(bytes + at, size - at, r);
        if (r.status != FRAME_COMPLETE)
            break;
        CHECK(r.payload == bytes + at + frame_agent.digits);
        CHECK(r.payload_len <= SEXP_MAX_PAYLOAD);
        CHECK(r.consumed == frame_agent.digits + r.payload_len && r.consumed <= size - at);
        check_writing(r, bytes + at);
        at += r.consumed;
    }
}
