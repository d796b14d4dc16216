/*
 * Any bytes as a kind, a name and a text, each ended by the byte 1. Invariants: forms lie within the text,
 * one after another, and each has a signature.
 */
#include "fuzz.h"
#include "scan/scan.h"
#include "scan/scan_toplevel.h"

/* A copy of exactly that size, so that the sanitizer detects an overrun. */
static char *take(char **data, size_t *size, size_t *len)
{
    const char *end = *size == 0 ? NULL : memchr(*data, 1, *size);
    *len = end == NULL ? *size : (size_t)(end - *data);
    char *text = malloc(*len > 0 ? *len : 1);
    CHECK(text != NULL);
    if (*len > 0)
        memcpy(text, *data, *len);
    size_t passed = *len + (end != NULL);
    *data += passed;
    *size -= passed;
    return text;
}

FUZZ(data, size)
{
    size_t kind_len, name_len, len;
    char *kind = take(&data, &size, &kind_len), *name = take(&data, &size, &name_len);
    char *text = take(&data, &size, &len);
    struct scan_toplevels forms;
    struct scan_toplevel form;
    size_t last = 0;
    if (len < 10000 && scan_text(text, len).fault == SCAN_VALID) {
        struct scan_wanted *wanted = scan_wanted_new(kind, kind_len, name, name_len);
        scan_toplevels_init(&forms, text, len);
        while (scan_toplevels_next(&forms, &form)) {
            struct strbuf signature;
            strbuf_init(&signature, 0);
            CHECK(form.lead <= form.start && form.start >= last && form.start < form.end && form.end <= len);
            CHECK(form.start <= form.kind && form.kind <= form.kind_end && form.kind_end <= form.rest);
            last = form.start;
            scan_toplevel_signature(text, &form, &signature);
            CHECK(signature.len >= 2 && signature.bytes[0] == '(');
            scan_toplevel_is(text, &form, wanted);
            strbuf_fini(&signature);
        }
        scan_wanted_free(wanted);
    }
    free(kind);
    free(name);
    free(text);
}
