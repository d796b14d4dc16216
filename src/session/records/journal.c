/*
 * The journal: an array that drops its oldest entries.
 */
#include "session/records/journal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

void journal_forget_pieces(struct journal_entry *e)
{
    for (size_t i = 0; i < e->piece_count; i++) {
        free(e->pieces[i].package);
        free(e->pieces[i].calls);
    }
    free(e->pieces);
    e->pieces = NULL;
    e->piece_count = 0;
    e->is_in_pieces = true;
}

static void entry_fini(struct journal_entry *e)
{
    journal_forget_pieces(e);
    free(e->code);
    free(e->package);
    free(e->additions);
}

struct journal_piece *journal_add_piece(struct journal_entry *e, uint64_t evaluation, size_t start,
                                        size_t end, const char *package, const char *calls)
{
    e->is_in_pieces = true;
    e->pieces = xrealloc(e->pieces, (e->piece_count + 1) * sizeof *e->pieces);
    e->pieces[e->piece_count++] = (struct journal_piece){.evaluation = evaluation,
                                                         .start = start,
                                                         .end = end,
                                                         .package = xstrdup(package),
                                                         .calls = xstrdup(calls)};
    return &e->pieces[e->piece_count - 1];
}

void journal_fini(struct journal *j)
{
    for (size_t i = 0; i < j->count; i++)
        entry_fini(&j->entries[j->first + i]);
    free(j->entries);
    *j = (struct journal){0};
}

struct journal journal_copy(const struct journal *j)
{
    struct journal copy = {.count = j->count, .capacity = j->count, .bytes = j->bytes, .dropped = j->dropped};
    copy.entries = xcalloc(j->count + 1, sizeof *copy.entries);
    for (size_t i = 0; i < j->count; i++) {
        struct journal_entry *e = &copy.entries[i];
        *e = *journal_at(j, i);
        const struct journal_piece *pieces = e->pieces;
        e->code = xmemdup0(e->code, e->code_len);
        e->package = xstrdup(e->package);
        e->additions = xstrdup(e->additions);
        e->pieces = xcalloc(e->piece_count + 1, sizeof *e->pieces);
        for (size_t n = 0; n < e->piece_count; n++) {
            e->pieces[n] = pieces[n];
            e->pieces[n].package = xstrdup(pieces[n].package);
            e->pieces[n].calls = xstrdup(pieces[n].calls);
        }
    }
    return copy;
}

static void drop_oldest(struct journal *j)
{
    j->bytes -= j->entries[j->first].bytes;
    entry_fini(&j->entries[j->first]);
    j->first++;
    j->count--;
    j->dropped++;
}

struct journal_entry *journal_add(struct journal *j, uint64_t evaluation, uint64_t parent, const char *code,
                                  size_t len, const char *package, enum journal_outcome outcome)
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
    e->is_in_state = outcome != JOURNAL_DIED;
    e->code = xmemdup0(code, len);
    e->package = xstrdup(package);
    clock_gettime(CLOCK_REALTIME, &e->when);
    e->bytes = len;
    j->bytes += len;
    return e;
}

void journal_weigh(struct journal *j, struct journal_entry *e)
{
    size_t bytes = e->code_len + (e->package == NULL ? 0 : strlen(e->package)) +
                   (e->additions == NULL ? 0 : strlen(e->additions));
    for (size_t i = 0; i < e->piece_count; i++)
        bytes += sizeof e->pieces[i] + strlen(e->pieces[i].package) +
                 (e->pieces[i].calls == NULL ? 0 : strlen(e->pieces[i].calls));
    j->bytes += bytes - e->bytes;
    e->bytes = bytes;
    while (j->bytes > JOURNAL_BYTES && journal_at(j, 0) != e)
        drop_oldest(j);
}

struct journal_entry *journal_at(const struct journal *j, size_t n)
{
    return n < j->count ? &j->entries[j->first + n] : NULL;
}

uint64_t journal_skipped(const struct journal *j)
{
    if (j->count == 0)
        return 0;
    return journal_at(j, j->count - 1)->evaluation - journal_at(j, 0)->evaluation + 1 - j->count;
}

const char *journal_code_between(const struct journal_entry *e, size_t from, size_t to, size_t *len)
{
    size_t start = utf8_byte_of(e->code, e->code_len, from), end = utf8_byte_of(e->code, e->code_len, to);
    while (start < end && isspace((unsigned char)e->code[start]))
        start++;
    *len = start < end ? end - start : 0;
    return e->code + start;
}

void journal_settle(struct journal *j, uint64_t at)
{
    uint64_t held = at;
    for (size_t i = j->count; i > 0; i--) {
        struct journal_entry *e = journal_at(j, i - 1);
        /* An evaluation that has no code is not in the journal; the newest entry before it stands for it. */
        e->is_undone = e->evaluation > at || e->outcome == JOURNAL_DIED;
        if (!e->is_undone)
            at = e->parent;
        e->is_in_state = e->evaluation <= held && e->outcome != JOURNAL_DIED;
        if (e->is_in_state)
            held = e->has_origin ? e->origin : e->parent;
    }
}

struct journal_entry *journal_find(const struct journal *j, uint64_t evaluation)
{
    size_t low = 0, high = j->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (journal_at(j, middle)->evaluation < evaluation)
            low = middle + 1;
        else
            high = middle;
    }
    struct journal_entry *e = journal_at(j, low);
    return e != NULL && e->evaluation == evaluation ? e : NULL;
}

bool journal_is_live(const struct journal *j, uint64_t evaluation)
{
    const struct journal_entry *e = journal_find(j, evaluation);
    return e == NULL || !e->is_undone;
}
