/*
 * Frames: each input at once, byte by byte, and against memory that cannot be read.
 */
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "base/strbuf.h"
#include "guarded.h"
#include "wire/frame.h"
#include "wire/sexp.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

struct row {
    const char *name;
    const char *bytes;
    size_t len;
    enum frame_status status;
    size_t at; /* complete: consumed; malformed: how many bytes are enough to see it */
};

static const struct row rows[] = {
    {"nothing yet", BYTES(""), FRAME_PARTIAL, 0},
    {"one digit", BYTES("0"), FRAME_PARTIAL, 0},
    {"seven digits", BYTES("0000000"), FRAME_PARTIAL, 0},
    {"seven digits of too much", BYTES("fffffff"), FRAME_PARTIAL, 0},
    {"a header", BYTES("00000005"), FRAME_PARTIAL, 0},
    {"a header in hexadecimal", BYTES("000000ff"), FRAME_PARTIAL, 0},
    {"a header of the largest payload", BYTES("01000000"), FRAME_PARTIAL, 0},
    {"one byte short", BYTES("00000005(1 2"), FRAME_PARTIAL, 0},
    {"an empty payload", BYTES("00000000"), FRAME_COMPLETE, 8},
    {"an empty payload and more", BYTES("00000000x"), FRAME_COMPLETE, 8},
    {"a whole frame", BYTES("00000005(1 2)"), FRAME_COMPLETE, 13},
    {"a whole frame and half of another", BYTES("00000005(1 2)0000"), FRAME_COMPLETE, 13},
    {"a whole frame and rubbish", BYTES("00000005(1 2)rubbish!"), FRAME_COMPLETE, 13},
    {"a payload of NULs", BYTES("00000003\0\0\0"), FRAME_COMPLETE, 11},
    {"a payload that is no UTF-8", BYTES("00000002\xff\xfe"), FRAME_COMPLETE, 10},
    {"a length over the largest by one", BYTES("01000001"), FRAME_MALFORMED, 8},
    {"the largest length there is", BYTES("ffffffff"), FRAME_MALFORMED, 8},
    {"a sign bit", BYTES("80000000"), FRAME_MALFORMED, 8},
    {"upper case", BYTES("0000000A0123456789"), FRAME_MALFORMED, 8},
    {"a space in front", BYTES(" 0000005(1 2)"), FRAME_MALFORMED, 1},
    {"a space behind", BYTES("0000005 (1 2)"), FRAME_MALFORMED, 8},
    {"a plus sign", BYTES("+0000005(1 2)"), FRAME_MALFORMED, 1},
    {"a minus sign", BYTES("-0000005(1 2)"), FRAME_MALFORMED, 1},
    {"0x", BYTES("0x000005(1 2)"), FRAME_MALFORMED, 2},
    {"g", BYTES("0000000g"), FRAME_MALFORMED, 8},
    {"slash, before the digits", BYTES("0000/005"), FRAME_MALFORMED, 5},
    {"colon, behind the digits", BYTES("000:0005"), FRAME_MALFORMED, 4},
    {"backquote, before the letters", BYTES("00`00005"), FRAME_MALFORMED, 3},
    {"a newline", BYTES("\n00000005"), FRAME_MALFORMED, 1},
    {"a NUL", BYTES("0000\0005(1)"), FRAME_MALFORMED, 5},
    {"a high byte",
     BYTES("000000\xb2"
           "5"),
     FRAME_MALFORMED, 7},
    {"a payload without a header", BYTES("(1 :ok)"), FRAME_MALFORMED, 1},
    {"a line of text", BYTES("Unhandled SB-INT:SIMPLE-READER-ERROR"), FRAME_MALFORMED, 1},
    {"a header of JSON", BYTES("{\"jsonrpc\":\"2.0\"}"), FRAME_MALFORMED, 1},
    {"seven digits and a parenthesis", BYTES("0000005(1 2)"), FRAME_MALFORMED, 8},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static void check_result(const struct row *row, const char *bytes, size_t len, struct frame_result r)
{
    if (r.status != row->status)
        fail_msg("%s: status %d at %zu bytes", row->name, (int)r.status, len);
    switch (r.status) {
    case FRAME_COMPLETE:
        assert_int_equal(r.consumed, row->at);
        assert_ptr_equal(r.payload, bytes + frame_agent.digits);
        assert_int_equal(r.payload_len, row->at - frame_agent.digits);
        break;
    case FRAME_PARTIAL:
    case FRAME_MALFORMED:
        assert_null(r.payload);
        assert_int_equal(r.consumed, 0);
        break;
    }
}

TEST(frame_scan_judges_each_row_at_once)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        struct guarded g = guarded_copy(row->bytes, row->len);
        check_result(row, row->bytes, row->len, frame_scan(&frame_agent, row->bytes, row->len));
        check_result(row, g.bytes, row->len, frame_scan(&frame_agent, g.bytes, row->len));
        guarded_free(&g);
    }
}

TEST(frame_scan_judges_each_row_byte_by_byte)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++)
        for (size_t len = 0; len <= row->len; len++) {
            struct guarded g = guarded_copy(row->bytes, len);
            struct frame_result r = frame_scan(&frame_agent, g.bytes, len);
            if (row->status != FRAME_PARTIAL && len >= row->at)
                check_result(row, g.bytes, len, r);
            else if (r.status != FRAME_PARTIAL)
                fail_msg("%s: status %d at %zu bytes", row->name, (int)r.status, len);
            guarded_free(&g);
        }
}

TEST(frame_scan_accepts_the_largest_payload)
{
    struct strbuf b;
    struct frame_result r;
    size_t at;
    char *room;
    strbuf_init(&b, 0);
    at = frame_begin(&frame_agent, &b);
    room = strbuf_reserve(&b, SEXP_MAX_PAYLOAD);
    memset(room, ' ', SEXP_MAX_PAYLOAD);
    strbuf_added(&b, SEXP_MAX_PAYLOAD);
    frame_end(&frame_agent, &b, at);
    assert_false(b.is_overflown);
    assert_memory_equal(b.bytes, "01000000", 8);
    r = frame_scan(&frame_agent, b.bytes, b.len);
    assert_int_equal(r.status, FRAME_COMPLETE);
    assert_int_equal(r.payload_len, SEXP_MAX_PAYLOAD);
    r = frame_scan(&frame_agent, b.bytes, b.len - 1);
    assert_int_equal(r.status, FRAME_PARTIAL);
    strbuf_fini(&b);
}

TEST(frames_that_were_written_are_found_again)
{
    static const size_t lengths[] = {0, 1, 9, 10, 15, 16, 17, 255, 256, 4095, 4096, 65535, 65536, 1 << 20};
    struct strbuf b;
    struct frame_result r;
    size_t from = 0, at;
    char header[9];
    strbuf_init(&b, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        at = frame_begin(&frame_agent, &b);
        assert_int_equal(at, from);
        for (size_t n = 0; n < lengths[i]; n++)
            strbuf_addc(&b, (char)n);
        frame_end(&frame_agent, &b, at);
        snprintf(header, sizeof header, "%08zx", lengths[i]);
        assert_memory_equal(b.bytes + at, header, 8);
        from = b.len;
    }
    from = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        r = frame_scan(&frame_agent, b.bytes + from, b.len - from);
        assert_int_equal(r.status, FRAME_COMPLETE);
        assert_int_equal(r.payload_len, lengths[i]);
        from += r.consumed;
    }
    assert_int_equal(from, b.len);
    strbuf_fini(&b);
}

TEST(a_value_written_into_a_frame_has_no_space_in_front)
{
    struct strbuf b;
    size_t at;
    strbuf_init(&b, 0);
    for (int i = 1; i <= 2; i++) {
        at = frame_begin(&frame_agent, &b);
        sexp_write_open(&b);
        sexp_write_integer(&b, i);
        sexp_write_symbol(&b, "abort");
        sexp_write_close(&b);
        frame_end(&frame_agent, &b, at);
    }
    at = frame_begin(&frame_agent, &b);
    sexp_write_integer(&b, 7);
    frame_end(&frame_agent, &b, at);
    assert_string_equal(strbuf_string(&b), "0000000a(1 :abort)0000000a(2 :abort)000000017");
    strbuf_fini(&b);
}

TEST(a_frame_that_does_not_fit_leaves_nothing_behind)
{
    struct strbuf b;
    size_t at, whole;
    /* Caps that are passed in the header, in the payload, at its last byte, and not at all. */
    for (size_t limit = 18; limit <= 36; limit++) {
        strbuf_init(&b, limit);
        at = frame_begin(&frame_agent, &b);
        strbuf_adds(&b, "(1 :abort)");
        frame_end(&frame_agent, &b, at);
        assert_false(b.is_overflown);
        whole = b.len;
        at = frame_begin(&frame_agent, &b);
        sexp_write_open(&b);
        sexp_write_integer(&b, 2);
        sexp_write_symbol(&b, "abort");
        sexp_write_close(&b);
        frame_end(&frame_agent, &b, at);
        assert_int_equal(b.is_overflown, limit < 36);
        assert_int_equal(b.len, limit < 36 ? whole : 36);
        assert_int_equal(b.bytes[b.len], 0);
        strbuf_fini(&b);
    }
    strbuf_init(&b, 3);
    at = frame_begin(&frame_agent, &b);
    frame_end(&frame_agent, &b, at);
    assert_true(b.is_overflown);
    assert_int_equal(b.len, 0);
    strbuf_fini(&b);
}

TEST(a_frame_over_the_largest_payload_is_taken_out)
{
    struct strbuf b;
    size_t at;
    strbuf_init(&b, 0);
    at = frame_begin(&frame_agent, &b);
    memset(strbuf_reserve(&b, SEXP_MAX_PAYLOAD + 1), ' ', SEXP_MAX_PAYLOAD + 1);
    strbuf_added(&b, SEXP_MAX_PAYLOAD + 1);
    frame_end(&frame_agent, &b, at);
    assert_true(b.is_overflown);
    assert_int_equal(b.len, 0);
    strbuf_fini(&b);
}
