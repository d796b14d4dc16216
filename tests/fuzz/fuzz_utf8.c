/*
 * For any bytes: the valid prefix is valid and cannot be longer, repairing yields valid text that keeps what
 * was valid, and a cut at any offset leaves whole characters.
 */
#include <stdbool.h>

#include "fuzz.h"
#include "base/strbuf.h"
#include "base/utf8.h"

static void check_capped(const char *bytes, size_t len, const struct strbuf *whole, size_t limit)
{
    struct strbuf out;
    strbuf_init(&out, limit);
    bool is_all = utf8_repair(&out, bytes, len);
    CHECK(is_all == (whole->len <= limit));
    CHECK(out.is_overflown == !is_all);
    CHECK(out.len == utf8_floor(strbuf_string(whole), whole->len, limit));
    CHECK(memcmp(strbuf_string(&out), strbuf_string(whole), out.len) == 0);
    strbuf_fini(&out);
}

FUZZ(bytes, size)
{
    struct strbuf out;
    size_t floor;
    size_t prefix = utf8_valid_prefix(bytes, size);
    CHECK(prefix <= size);
    CHECK(utf8_is_valid(bytes, prefix));
    CHECK(utf8_is_valid(bytes, size) == (prefix == size));
    for (size_t longer = prefix + 1; longer <= size && longer <= prefix + 8; longer++)
        CHECK(utf8_valid_prefix(bytes, longer) == prefix);

    strbuf_init(&out, 0);
    CHECK(utf8_repair(&out, bytes, size));
    CHECK(utf8_is_valid(strbuf_string(&out), out.len));
    CHECK(out.len >= prefix && out.len <= 3 * size);
    CHECK(memcmp(strbuf_string(&out), bytes, prefix) == 0);
    CHECK(prefix < size || out.len == size);
    for (size_t at = 0; at <= out.len && at < 64; at++) {
        floor = utf8_floor(strbuf_string(&out), out.len, at);
        CHECK(floor <= at && at - floor < 4);
        CHECK(utf8_is_valid(strbuf_string(&out), floor));
        CHECK(utf8_is_valid(strbuf_string(&out) + floor, out.len - floor));
        if (at > 0)
            check_capped(bytes, size, &out, at);
        floor = utf8_floor(bytes, size, at);
        CHECK(floor <= size && floor <= at);
    }
    strbuf_fini(&out);

    utf8_mask(bytes, size);
    CHECK(utf8_is_valid(bytes, size));
}
