/*
 * The journal: an array that forgets from its front.
 */
#include "session/journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void journal_init(struct journal *j)
{
    *j = (struct journal){0};
}

static void entry_fini(struct journal_entry *e)
{
    free(e->code);
    free(e->package);
}

void journal_fini(struct journal *j)
{
    for (size_t i = 0; i < j->count; i++)
        entry_fini(&j->entries[j->first + i]);
    free(j->entries);
    journal_init(j);
}

static void drop_oldest(struct journal *j)
{
    j->bytes -= j->entries[j->first].code_len;
    entry_fini(&j->entries[j->first]);
    j->first++;
    j->count--;
    j->dropped++;
}

void journal_add(struct journal *j, uint64_t evaluation, uint64_t parent, const char *code, size_t len,
                 const char *package, enum journal_outcome outcome)
{
    while (j->count > 0 && (j->count >= JOURNAL_ENTRIES || j->bytes + len > JOURNAL_BYTES))
        drop_oldest(j);
    if (j->first + j->count == j->capacity && j->first > j->capacity / 2) {
        memmove(j->entries, j->entries + j->first, j->count * sizeof *j->entries);
        j->first = 0;
    } else if (j->first + j->count == j->capacity) {
        j->capacity = j->capacity == 0 ? 16 : j->capacity * 2;
        j->entries = xrealloc(j->entries, j->capacity * sizeof *j->entries);
    }
    struct journal_entry *e = &j->entries[j->first + j->count++];
    *e = (struct journal_entry){
        .evaluation = evaluation, .parent = parent, .code_len = len, .outcome = outcome};
    e->code = xmemdup0(code, len);
    e->package = xstrdup(package);
    clock_gettime(CLOCK_REALTIME, &e->when);
    j->bytes += len;
}

struct journal_entry *journal_at(const struct journal *j, size_t n)
{
    return n < j->count ? &j->entries[j->first + n] : NULL;
}

void journal_copy(struct journal *to, const struct journal *from)
{
    journal_init(to);
    for (size_t i = 0; i < from->count; i++) {
        const struct journal_entry *e = journal_at(from, i);
        journal_add(to, e->evaluation, e->parent, e->code, e->code_len, e->package, e->outcome);
        struct journal_entry *copy = journal_at(to, i);
        copy->is_undone = e->is_undone;
        copy->when = e->when;
    }
    to->dropped = from->dropped;
}

void journal_settle(struct journal *j, uint64_t at)
{
    for (size_t i = j->count; i > 0; i--) {
        struct journal_entry *e = journal_at(j, i - 1);
        /* An evaluation that is not kept here (it had no code) stands for the newest one before it. */
        e->is_undone = e->evaluation > at || e->outcome == JOURNAL_DIED;
        if (!e->is_undone)
            at = e->parent;
    }
}

bool journal_is_live(const struct journal *j, uint64_t evaluation)
{
    for (size_t i = 0; i < j->count; i++)
        if (journal_at(j, i)->evaluation == evaluation)
            return !journal_at(j, i)->is_undone;
    return true;
}
