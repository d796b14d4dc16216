/*
 * Any text as the code of an evaluation, after a history of other texts: the parts that NULs separate.
 * Invariants: what is reported as defined lies within the code, and what it replaced within the history.
 */
#include "base/utf8.h"
#include "events/event_definitions.h"
#include "fuzz.h"
#include "session/records/journal.h"

/* Text that is not UTF-8 is repaired, and is not looked for. */
static void check_within(const json_t *text, const char *code, size_t len)
{
    CHECK(!utf8_is_valid(code, len) ||
          memmem(code, len, json_string_value(text), json_string_length(text)) != NULL);
}

FUZZ(text, size)
{
    struct journal journal = {0};
    uint64_t number = 0;
    const char *end = text + size, *stop;
    while ((stop = memchr(text, '\0', (size_t)(end - text))) != NULL && number < 20) {
        journal_add(&journal, number + 1, number, text, (size_t)(stop - text), "CL-USER", JOURNAL_OK);
        number++;
        text = (char *)(uintptr_t)stop + 1;
    }
    journal_settle(&journal, number);
    json_t *definitions = event_definitions(&journal, text, (size_t)(end - text), number + 1), *d;
    size_t i;
    CHECK(json_array_size(definitions) <= 50);
    json_array_foreach(definitions, i, d) {
        check_within(json_object_get(d, "text"), text, (size_t)(end - text));
        check_within(json_object_get(d, "operator"), text, (size_t)(end - text));
        json_int_t replaced = json_integer_value(json_object_get(d, "replaced-evaluation"));
        const struct journal_entry *e = replaced == 0 ? NULL : journal_find(&journal, (uint64_t)replaced);
        CHECK(json_is_null(json_object_get(d, "replaced")) == (e == NULL));
        if (e != NULL)
            check_within(json_object_get(d, "replaced"), e->code, e->code_len);
    }
    json_decref(definitions);
    journal_fini(&journal);
}
