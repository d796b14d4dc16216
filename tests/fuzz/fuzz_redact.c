/*
 * Any text: valid UTF-8 stays valid, and in place ends of lines stay where they are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/redact.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf valid, out;
    strbuf_init(&valid, 0);
    strbuf_init(&out, 0);
    utf8_repair(&valid, (const char *)data, size);
    redact(&out, strbuf_string(&valid), valid.len);
    if (!utf8_is_valid(strbuf_string(&out), out.len))
        abort();
    strbuf_clear(&out);
    strbuf_add(&out, strbuf_string(&valid), valid.len);
    if (out.len > 0)
        redact_in_place(out.bytes, out.len, size % 2 == 0);
    if (!utf8_is_valid(strbuf_string(&out), out.len))
        abort();
    for (size_t i = 0; i < out.len; i++)
        if ((out.bytes[i] == '\n') != (valid.bytes[i] == '\n'))
            abort();
    strbuf_fini(&out);
    strbuf_fini(&valid);
    return 0;
}
