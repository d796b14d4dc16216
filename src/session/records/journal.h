/*
 * What was evaluated in a session, in order, and how it ended: for the transcript, for reporting what a
 * rollback undid, and for replaying definitions that no snapshot holds.
 */
#ifndef SESSION_RECORDS_JOURNAL_H
#define SESSION_RECORDS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum journal_outcome { JOURNAL_OK, JOURNAL_ERROR, JOURNAL_STOPPED, JOURNAL_DIED };

/* A part of what was evaluated: a range of characters in the code of one evaluation. */
struct journal_piece {
    uint64_t evaluation;
    size_t start, end; /* ${end} may be beyond the end of the code */
    int depth;         /* the number of PROGNs that begin before the piece and end in it */
    char *package;     /* the package in which it is read */
    char *calls;       /* NULL, or Lisp text: calls by which its first form continued, each by a restart */
};

struct journal_entry {
    uint64_t evaluation; /* 1 for the session's first */
    uint64_t parent;     /* the evaluation after whose state it was evaluated; 0 for the beginning */
    char *code;          /* NUL-terminated; may hold NULs */
    size_t code_len;
    char *package; /* the package in which it was read; NULL: CL-USER */
    enum journal_outcome outcome;
    bool is_undone; /* it does not lead to the current state */
    /* What the state after this evaluation contains of it: all of it if it ended well and the Lisp
     * reported nothing else; otherwise ${pieces}, which may belong to other evaluations too. */
    bool is_in_pieces;
    struct journal_piece *pieces;
    size_t piece_count;
    bool has_origin; /* it continued from the state after ${origin}, not from that after ${parent} */
    uint64_t origin;
    bool is_in_state; /* the current state contains its effects */
    char *additions;  /* NULL, or code that was evaluated later inside its error: Lisp text that loads */
    struct timespec when;
    size_t bytes; /* its share of the journal's */
};

#define JOURNAL_ENTRIES 5000
#define JOURNAL_BYTES ((size_t)8 << 20)

/* Invariants: the numbers of the evaluations ascend; at most JOURNAL_ENTRIES entries, with at most
 * JOURNAL_BYTES of code, pieces and additions together, unless the one that was weighed last has more; the
 * oldest are dropped first, and ${dropped} counts them. */
struct journal {
    struct journal_entry *entries; /* ${count} of them from ${first} on */
    size_t first, count, capacity, bytes;
    uint64_t dropped;
};

/* journal_fini(j): empty it; all members of an empty one are 0. journal_copy(j): another with the same
 * entries; given. */
void journal_fini(struct journal *j);
struct journal journal_copy(const struct journal *j);

/* journal_add(j, evaluation, parent, code, len, package, outcome): code and package are copied. Returns it,
 * borrowed until the next is added.
 */
struct journal_entry *journal_add(struct journal *j, uint64_t evaluation, uint64_t parent, const char *code,
                                  size_t len, const char *package, enum journal_outcome outcome);

/* journal_at(j, n): 0 for the oldest that is kept; borrowed; NULL past the end. */
struct journal_entry *journal_at(const struct journal *j, size_t n);

/* journal_skipped(j): how many numbers between its first and last evaluation have no entry. */
uint64_t journal_skipped(const struct journal *j);

/* journal_find(j, evaluation): borrowed; NULL if it is not kept. */
struct journal_entry *journal_find(const struct journal *j, uint64_t evaluation);

/* journal_add_piece(e, evaluation, start, end, package, calls): package and calls are copied; from now on
 * ${e} consists of its pieces. Returns the piece, borrowed until the next is added.
 * journal_forget_pieces(e): it consists of pieces, and has none yet. */
struct journal_piece *journal_add_piece(struct journal_entry *e, uint64_t evaluation, size_t start,
                                        size_t end, const char *package, const char *calls);
void journal_forget_pieces(struct journal_entry *e);

/* journal_weigh(j, e): pieces, additions or another package were given to ${e}: count them, and drop the
 * oldest entries if there is too much now, up to ${e}. */
void journal_weigh(struct journal *j, struct journal_entry *e);

/* journal_code_between(e, from, to, len): its code from character ${from} up to, not including, ${to},
 * without leading blanks; borrowed. */
const char *journal_code_between(const struct journal_entry *e, size_t from, size_t to, size_t *len);

/* journal_settle(j, at): the session is in the state after evaluation ${at}: mark the entries that do not
 * lead to it as undone. Rollbacks make branches; each entry knows its parent and the state from which it
 * continued. */
void journal_settle(struct journal *j, uint64_t at);

/* journal_is_live(j, evaluation): it is not undone; true for one that is not kept. */
bool journal_is_live(const struct journal *j, uint64_t evaluation);

#endif
