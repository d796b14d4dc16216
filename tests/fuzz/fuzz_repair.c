/*
 * Any bytes through the repair. Invariants: a certain repair yields text that scans, differs from the
 * original in `)` only, and results from its edits.
 */
#include "fuzz.h"
#include "scan/scan_repair.h"

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
        CHECK(a[i] == b[j]);
        i = next_other(a, a_len, i + 1);
        j = next_other(b, b_len, j + 1);
    }
    CHECK(i == a_len && j == b_len);
}

FUZZ(text, size)
{
    struct scan_repair repair;
    struct strbuf out;
    strbuf_init(&out, 0);
    scan_find_repair(text, size, &repair, &out);
    CHECK(repair.edit_count <= SCAN_REPAIR_MOST_EDITS);
    long growth = 0;
    for (size_t i = 0; i < repair.edit_count; i++) {
        const struct scan_edit *edit = &repair.edits[i];
        CHECK(edit->count > 0 && edit->at.offset <= size && edit->at.line > 0);
        growth += edit->is_removal ? -(long)edit->count : (long)edit->count;
    }
    if (repair.is_certain) {
        struct scan_result result;
        CHECK(repair.edit_count > 0);
        CHECK((long)out.len - (long)size == growth);
        CHECK(scan_text(out.bytes, out.len).fault == SCAN_VALID);
        CHECK(!scan_find_swallowed(out.bytes, out.len, &result));
        require_only_parens_differ(text, size, out.bytes, out.len);
    } else {
        CHECK(out.len == 0);
    }
    strbuf_fini(&out);
}
