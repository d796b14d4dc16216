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

/* A part of what was evaluated: characters of the code of one evaluation. */
struct journal_piece {
    uint64_t evaluation;
    size_t start, end; /* ${end} may be beyond the end */
    int depth;         /* inside so many PROGNs that begin before it and end in it */
    char *package;     /* in which it is read */
    char *calls;       /* NULL, or Lisp text: functions by which its first form went on, each by a restart */
};

struct journal_entry {
    uint64_t evaluation; /* 1 for the session's first */
    uint64_t parent;     /* the state it was evaluated in: after that evaluation; 0 for the beginning */
    char *code;          /* NUL-terminated; may hold NULs */
    size_t code_len;
    char *package; /* in which it was read; NULL: the session's at that time was CL-USER */
    enum journal_outcome outcome;
    bool is_undone; /* it is not on the way from the beginning to the state of now */
    /* What the state after it holds of it: all of it, if it ended well and nothing else was told; else
     * ${pieces}, which may be of other evaluations too. */
    bool is_in_pieces;
    struct journal_piece *pieces;
    size_t piece_count;
    bool has_origin; /* it went on from the state after ${origin}, and not from that after ${parent} */
    uint64_t origin;
    bool is_in_state; /* the state of now holds what it did */
    char *additions;  /* NULL, or what else was evaluated after it, inside an error: Lisp text that loads */
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

/* journal_add(j, evaluation, parent, code, len, package, outcome): code and package are copied. Returns it,
 * borrowed until the next is added.
 * journal_copy(to, from): ${to} is initialised here. */
struct journal_entry *journal_add(struct journal *j, uint64_t evaluation, uint64_t parent, const char *code,
                                  size_t len, const char *package, enum journal_outcome outcome);
void journal_copy(struct journal *to, const struct journal *from);

/* journal_at(j, n): 0 for the oldest kept; borrowed; NULL past the end. */
struct journal_entry *journal_at(const struct journal *j, size_t n);

/* journal_find(j, evaluation): borrowed; NULL if it is not kept. */
struct journal_entry *journal_find(const struct journal *j, uint64_t evaluation);

/* journal_add_piece(e, evaluation, start, end, package, calls): package and calls are copied; e is in pieces.
 * Returns it, borrowed until the next is added.
 * journal_forget_pieces(e): it is in pieces, of which there are none. */
struct journal_piece *journal_add_piece(struct journal_entry *e, uint64_t evaluation, size_t start,
                                        size_t end, const char *package, const char *calls);
void journal_forget_pieces(struct journal_entry *e);

/* journal_code_between(e, from, to, len): its code from character ${from} to before ${to}, without blanks at
 * the beginning; borrowed. */
const char *journal_code_between(const struct journal_entry *e, size_t from, size_t to, size_t *len);

/* journal_own_end(e): of its own code what is before this character has taken effect; SIZE_MAX: all of it. */
size_t journal_own_end(const struct journal_entry *e);

/* journal_settle(j, at): the session is in the state after this evaluation: what is not on the way to it is
 * undone. Roll-backs make branches; each entry knows its parent, and the state that it went on from. */
void journal_settle(struct journal *j, uint64_t at);

/* journal_is_live(j, evaluation): it is not undone; true for one that is not kept. */
bool journal_is_live(const struct journal *j, uint64_t evaluation);

#endif
