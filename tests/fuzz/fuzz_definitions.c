/*
 * Any text as the code of an evaluation, after a history of other texts: the parts that NULs separate.
 * Invariants: what is reported as defined lies within the code, and what it replaced within the history.
 */
#include "fuzz.h"
#include "session/records/journal.h"
#include "tools/event_definitions.h"

struct seen {
    const char *code;
    size_t len, count;
    const struct journal *journal;
};

static void check(void *arg, const struct event_definition *d)
{
    struct seen *seen = arg;
    CHECK(++seen->count <= 50 && d->len > 0);
    CHECK(d->text >= seen->code && d->text + d->len <= seen->code + seen->len);
    CHECK(d->operator>= d->text && d->operator+ d->operator_len <= d->text + d->len);
    const struct journal_entry *e =
        d->replaced == NULL ? NULL : journal_find(seen->journal, d->replaced_evaluation);
    CHECK((d->replaced == NULL) == (e == NULL));
    CHECK(e == NULL || (d->replaced >= e->code && d->replaced + d->replaced_len <= e->code + e->code_len));
}

FUZZ(text, size)
{
    struct journal journal;
    uint64_t number = 0;
    const char *end = text + size, *stop;
    journal_init(&journal);
    while ((stop = memchr(text, '\0', (size_t)(end - text))) != NULL && number < 20) {
        journal_add(&journal, number + 1, number, text, (size_t)(stop - text), "CL-USER", JOURNAL_OK);
        number++;
        text = (char *)(uintptr_t)stop + 1;
    }
    journal_settle(&journal, number);
    struct seen seen = {.code = text, .len = (size_t)(end - text), .journal = &journal};
    event_definitions_each(&journal, text, seen.len, number + 1, check, &seen);
    journal_fini(&journal);
}
