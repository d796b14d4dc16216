/*
 * What was evaluated in a session, in order, and how it ended: for the transcript, for saying what a roll-back undid, and for
 * evaluating definitions again where no checkpoint could be made.
 */
#ifndef SESSION_JOURNAL_H
#define SESSION_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum journal_outcome { JOURNAL_OK, JOURNAL_ERROR, JOURNAL_STOPPED, JOURNAL_DIED };

struct journal_entry {
    uint64_t evaluation; /* 1 for the session's first */
    char *code;          /* NUL-terminated; may hold NULs */
    size_t code_len;
    char *package; /* in which it was read; NULL: the session's at that time was CL-USER */
    enum journal_outcome outcome;
    bool is_undone; /* a roll-back went behind it */
    struct timespec when;
};

#define JOURNAL_ENTRIES 5000
#define JOURNAL_BYTES ((size_t)8 << 20)

/* Invariants: at most JOURNAL_ENTRIES entries of at most JOURNAL_BYTES of code together; the oldest go first; ${dropped} counts them. */
struct journal {
    struct journal_entry *entries; /* ${count} of them from ${first} on */
    size_t first, count, capacity, bytes;
    uint64_t dropped;
};

void journal_init(struct journal *j);
void journal_fini(struct journal *j);

/* journal_add(j, evaluation, code, len, package, outcome): code and package are copied. */
void journal_add(struct journal *j, uint64_t evaluation, const char *code, size_t len, const char *package, enum journal_outcome outcome);

/* journal_at(j, n): 0 for the oldest kept; borrowed; NULL past the end. */
struct journal_entry *journal_at(const struct journal *j, size_t n);

/* journal_undo_after(j, evaluation): mark what came later as undone. Returns how many that were. journal_redo_until(j, evaluation): the other way. */
size_t journal_undo_after(struct journal *j, uint64_t evaluation);
void journal_redo_until(struct journal *j, uint64_t evaluation);

#endif
