/*
 * The snapshots of a session: waiting copies of its process, one for the state after each evaluation, thinned
 * out towards the past. One of a failed evaluation stands in its error. A snapshot waits in the agent's loop
 * and answers only requests for copies of itself; to return to it is to become such a copy.
 */
#ifndef SESSION_RECORDS_SNAPSHOTS_H
#define SESSION_RECORDS_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/list.h"
#include "session/records/facts.h"

struct error_record;
struct worker;

struct snapshot {
    struct list node;
    struct snapshots *owner;
    struct worker *worker; /* owned; STARTING until the process has confirmed it */
    uint64_t evaluation;   /* the state after this evaluation; with an error, once that is left */
    bool is_in_error;      /* it stands in the error of ${evaluation} */
    struct error_record
        *record;          /* borrowed: that error, while it is kept; NULL: none. It points back here. */
    bool is_error_recent; /* its error is one of the newest, which keep their snapshots */
    bool is_aside;        /* only its error can be entered: the session never was in this state, or a
                             newer evaluation has taken its place */
    bool is_stale;        /* something was evaluated in the error after this was made */
    char *name;           /* NULL: made automatically, and dropped automatically */
    char *package;        /* the session's package in that state */
    char *severed;        /* NULL, or the pipes and sockets that the copy lacks: "pipe (descriptor 5), ..." */
    char *files;          /* NULL, or the files that were open for writing at the error */
    struct timespec when;
};

/* Invariant: oldest first; evaluation numbers never decrease. */
struct snapshots {
    struct list all;
    struct snapshot *making; /* borrowed: requested, not yet confirmed by the process */
    struct snapshot
        *source; /* borrowed: the session is returning to it, or is about to copy it; it is kept meanwhile */
    bool is_one_owed;       /* the one after the last evaluation was put off */
    bool was_source_killed; /* the one that the session was returning to was killed from outside */
    uint64_t asked_at_ns;   /* when the last one was requested */
};

/* snapshots_clear(c, why): drop all of them, as with
 * snapshot_drop(). */
void snapshots_clear(struct snapshots *c, enum fact_kind why);

/* snapshots_add(c, worker, evaluation, package): ${worker} is taken; its on_gone must lead to
 * snapshot_drop(). Returns it, borrowed. */
struct snapshot *snapshots_add(struct snapshots *c, struct worker *worker, uint64_t evaluation,
                               const char *package);

/* snapshot_drop(sn, why): end its process and free it. ${why}: why its error can no
 * longer be entered; NULL: none is given. */
void snapshot_drop(struct snapshot *sn, enum fact_kind why);

/* snapshot_stands_in(sn, r): it is the snapshot of that error. snapshot_forget_error(sn): the record is
 * freed. snapshot_let_age(sn, why): its error is no longer one of the newest. After both, one that nobody can
 * return to is dropped, as with snapshot_drop(). */
void snapshot_stands_in(struct snapshot *sn, struct error_record *r);
void snapshot_forget_error(struct snapshot *sn);
void snapshot_let_age(struct snapshot *sn, enum fact_kind why);

/* snapshot_set_aside(sn): nobody can return to its state any more. It is kept for its error alone, or
 * dropped. */
void snapshot_set_aside(struct snapshot *sn);

/* snapshot_confirm(sn, pid): the process has made it. */
void snapshot_confirm(struct snapshot *sn, int64_t pid);

/* snapshots_next(c, after): the next state that can be returned to, from the newest to the oldest; ${after}
 * NULL: the newest. NULL at the end. snapshots_count(c): how many states there are. */
struct snapshot *snapshots_next(const struct snapshots *c, const struct snapshot *after);
size_t snapshots_count(const struct snapshots *c);

/* snapshots_thin(c, most): drop unnamed ones until at most ${most} are left beside those of the newest
 * errors. The newest state is kept, and another while one is being made; of the others, those whose
 * neighbours are closest to each other are dropped first. snapshots_are_too_many(c, most). */
void snapshots_thin(struct snapshots *c, size_t most);
bool snapshots_are_too_many(const struct snapshots *c, size_t most);

/* snapshots_have_named(c): at least one has a name. */
bool snapshots_have_named(const struct snapshots *c);

/* snapshots_evict(c, worth): drop the oldest unnamed one of the kind; false if there is none.
 * snapshots_delete(c, name): drop the one of that name; false if there is none. If it is being made or
 * returned to, it only loses its name. snapshots_keep_newest(c): drop the other unnamed states unless the
 * session is returning to one. Returns how many were dropped. snapshots_drop_older_errors(c, keep, why): drop
 * those that stand in recent errors other than ${keep}. Returns how many. snapshots_drop_namesakes(c, keep):
 * drop the others with the name of ${keep}: a name means the newest state that was given it. */
enum snapshots_worth {
    SNAPSHOTS_SPARE,     /* no recent error needs it, and it is not the newest state */
    SNAPSHOTS_OLD,       /* no recent error needs it */
    SNAPSHOTS_OF_ERRORS, /* any */
};
bool snapshots_evict(struct snapshots *c, enum snapshots_worth worth);
bool snapshots_delete(struct snapshots *c, const char *name);
size_t snapshots_keep_newest(struct snapshots *c);
size_t snapshots_drop_older_errors(struct snapshots *c, const struct error_record *keep, enum fact_kind why);
void snapshots_drop_namesakes(struct snapshots *c, const struct snapshot *keep);

/* snapshots_leave_after(c, evaluation): an evaluation follows that state: later unnamed states are dropped,
 * or kept for their errors alone. */
void snapshots_leave_after(struct snapshots *c, uint64_t evaluation);

/* snapshots_find(c, evaluation): the newest one of exactly that state; NULL if there is none.
 * snapshots_oldest(c, least): the oldest state after more than ${least} evaluations. snapshots_newest(c,
 * most): the newest one after at most ${most}. snapshots_named(c, name). */
struct snapshot *snapshots_find(const struct snapshots *c, uint64_t evaluation);
struct snapshot *snapshots_oldest(const struct snapshots *c, uint64_t least);
struct snapshot *snapshots_newest(const struct snapshots *c, uint64_t most);
struct snapshot *snapshots_named(const struct snapshots *c, const char *name);

/* snapshots_names(c): "good (evaluation 3), base (evaluation 1)", NULL if none has a name; given. */
char *snapshots_names(const struct snapshots *c);

#endif
