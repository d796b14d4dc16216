/*
 * What was evaluated in a session, in order, and how it ended: for the transcript, for saying what a
 * roll-back undid, and for evaluating definitions again where no checkpoint could be made.
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
    uint64_t parent;     /* the state it was evaluated in: after that evaluation; 0 for the beginning */
    char *code;          /* NUL-terminated; may hold NULs */
    size_t code_len;
    char *package; /* in which it was read; NULL: the session's at that time was CL-USER */
    enum journal_outcome outcome;
    bool is_undone; /* it is not on the way from the beginning to the state of now */
    struct timespec when;
};

#define JOURNAL_ENTRIES 5000
#define JOURNAL_BYTES ((size_t)8 << 20)

/* Invariants: at most JOURNAL_ENTRIES entries of at most JOURNAL_BYTES of code together; the oldest go first;
 * ${dropped} counts them. */
struct journal {
    struct journal_entry *entries; /* ${count} of them from ${first} on */
    size_t first, count, capacity, bytes;
    uint64_t dropped;
};

void journal_init(struct journal *j);
void journal_fini(struct journal *j);

/* journal_add(j, evaluation, parent, code, len, package, outcome): code and package are copied.
 * journal_copy(to, from): ${to} is initialised here. */
void journal_add(struct journal *j, uint64_t evaluation, uint64_t parent, const char *code, size_t len,
                 const char *package, enum journal_outcome outcome);
void journal_copy(struct journal *to, const struct journal *from);

/* journal_at(j, n): 0 for the oldest kept; borrowed; NULL past the end. */
struct journal_entry *journal_at(const struct journal *j, size_t n);

/* journal_settle(j, at): the session is in the state after this evaluation: what is not on the way to it is
 * undone. Roll-backs make branches; each entry knows its parent. */
void journal_settle(struct journal *j, uint64_t at);

/* journal_is_live(j, evaluation): it is not undone; true for one that is not kept. */
bool journal_is_live(const struct journal *j, uint64_t evaluation);

#endif
