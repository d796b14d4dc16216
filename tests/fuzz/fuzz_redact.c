/*
 * Any text: valid UTF-8 stays valid, and in place ends of lines stay where they are.
 */
#include "fuzz.h"
#include "base/redact.h"
#include "base/utf8.h"

FUZZ(bytes, size)
{
    struct strbuf valid, out;
    strbuf_init(&valid, 0);
    strbuf_init(&out, 0);
    utf8_repair(&valid, bytes, size);
    redact(&out, strbuf_string(&valid), valid.len);
    CHECK(utf8_is_valid(strbuf_string(&out), out.len));
    strbuf_clear(&out);
    strbuf_add(&out, strbuf_string(&valid), valid.len);
    if (out.len > 0)
        redact_in_place(out.bytes, out.len, size % 2 == 0);
    CHECK(utf8_is_valid(strbuf_string(&out), out.len));
    for (size_t i = 0; i < out.len; i++)
        CHECK((out.bytes[i] == '\n') == (valid.bytes[i] == '\n'));
    strbuf_fini(&out);
    strbuf_fini(&valid);
}
