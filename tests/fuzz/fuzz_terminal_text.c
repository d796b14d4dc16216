/*
 * Any text: its size stays bounded, text without controls is not touched, and what was cleaned has no line
 * that is overwritten. A text may end anywhere: the floor of its beginning does not depend on what follows.
 */
#include "fuzz.h"
#include "base/strbuf.h"
#include "base/terminal_text.h"

FUZZ(bytes, size)
{
    struct strbuf out = {0};
    bool is_changed = terminal_text_add(&out, bytes, size);
    CHECK(out.len <= 8 * size + 64);
    CHECK(is_changed || out.len <= size);
    size_t floor = terminal_text_floor(bytes, size);
    CHECK(floor <= size && (floor == size || bytes[floor] == '\x1b'));
    CHECK(size == 0 || terminal_text_floor(bytes, size - 1) <= size - 1);
    if (memchr(bytes, '\x1b', size) == NULL && memchr(bytes, '\r', size) == NULL) {
        CHECK(floor == size);
        CHECK(out.len == 0 || memchr(out.bytes, '\b', out.len) == NULL);
    }
    strbuf_fini(&out);
}
