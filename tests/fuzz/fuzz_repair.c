/*
 * Any bytes through the repair. Invariants: a certain repair yields text that scans, differs from the
 * original in `)` only, and results from its edits.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static size_t next_other(const char *text, size_t len, size_t at)
{
    while (at < len && text[at] == ')')
        at++;
    return at;
}

static void require_only_parens_differ(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t i = next_other(a, a_len, 0), j = next_other(b, b_len, 0);
    while (i < a_len && j < b_len) {
        require(a[i] == b[j]);
        i = next_other(a, a_len, i + 1);
        j = next_other(b, b_len, j + 1);
    }
    require(i == a_len && j == b_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size, so that the sanitizer detects an overrun. */
    char *text = malloc(size > 0 ? size : 1);
    struct scan_repair repair;
    struct strbuf out;
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    strbuf_init(&out, 0);
    scan_find_repair(text, size, &repair, &out);
    require(repair.edit_count <= SCAN_REPAIR_MOST_EDITS);
    long growth = 0;
    for (size_t i = 0; i < repair.edit_count; i++) {
        const struct scan_edit *edit = &repair.edits[i];
        require(edit->count > 0 && edit->at.offset <= size && edit->at.line > 0);
        growth += edit->is_removal ? -(long)edit->count : (long)edit->count;
    }
    if (repair.is_certain) {
        struct scan_result result;
        require(repair.edit_count > 0);
        require((long)out.len - (long)size == growth);
        require(scan_text(out.bytes, out.len).fault == SCAN_VALID);
        require(!scan_find_swallowed(out.bytes, out.len, &result));
        require_only_parens_differ(text, size, out.bytes, out.len);
    } else {
        require(out.len == 0);
    }
    strbuf_fini(&out);
    free(text);
    return 0;
}
