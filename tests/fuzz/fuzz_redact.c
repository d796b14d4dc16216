/*
 * Any text: the result is no longer than the text plus its marks, and valid UTF-8 stays valid.
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
    strbuf_fini(&out);
    strbuf_fini(&valid);
    return 0;
}
