/*
 * Frozen copies of a session's process, one for the state after each evaluation, thinned out towards the
 * past. A frozen copy is a process that waits in the agent's loop; the session returns to it by sending it a
 * request.
 */
#ifndef SESSION_CHECKPOINTS_H
#define SESSION_CHECKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/list.h"

struct worker;

struct checkpoint {
    struct list node;
    struct checkpoints *owner;
    struct worker *worker; /* owned; in state WORKER_STARTING or WORKER_IDLE */
    uint64_t evaluation;   /* the number of evaluations before this state */
    char *name;            /* NULL: made automatically, and dropped automatically */
    char *package;         /* the session's package in that state */
    char *severed;  /* NULL, or the pipes and sockets that the copy lacks: "pipe (descriptor 5), ..." */
    bool is_source; /* the session is returning to it; it is kept until that is over */
    struct timespec when;
};

/* Invariant: oldest first; evaluation numbers never decrease. */
struct checkpoints {
    struct list all;
    size_t count;
    struct checkpoint *making; /* borrowed: requested, not yet confirmed by the process */
    bool is_one_owed;          /* the one after the last evaluation was deferred */
    uint64_t asked_at_ns;      /* when the last one was requested */
};

/* checkpoints_init(c): none yet; checkpoints_clear() frees them. */
void checkpoints_init(struct checkpoints *c);

/* checkpoints_clear(c): end all of them. */
void checkpoints_clear(struct checkpoints *c);

/* checkpoints_add(c, worker, evaluation, package): ${worker} is taken; its on_gone must lead to
 * checkpoint_drop(). Returns it, borrowed. */
struct checkpoint *checkpoints_add(struct checkpoints *c, struct worker *worker, uint64_t evaluation,
                                   const char *package);

/* checkpoint_drop(cp): end its process and free it. */
void checkpoint_drop(struct checkpoint *cp);

/* checkpoints_thin(c, most, newest): drop unnamed ones until at most ${most} are left. The ${newest}
 * newest are never dropped; of the others, those whose neighbours are closest to each other are dropped
 * first. checkpoints_are_too_many(c, most): are there more than ${most} unnamed ones? */
void checkpoints_thin(struct checkpoints *c, size_t most, size_t newest);
bool checkpoints_are_too_many(const struct checkpoints *c, size_t most);

/* checkpoints_are_due(c, most): one was deferred, or there are more than ${most}.
 * checkpoints_have_named(c): at least one has a name. */
bool checkpoints_are_due(const struct checkpoints *c, size_t most);
bool checkpoints_have_named(const struct checkpoints *c);

/* checkpoints_evict_oldest(c): drop the oldest unnamed one; false if there is none.
 * checkpoints_evict_spare(c): the same if there are two.
 * checkpoints_delete(c, name): drop the one of that name; false if there is none. If it is being made or
 * returned to, it only loses its name.
 * checkpoints_keep_newest(c): drop the other unnamed ones, except one that is being made or returned to.
 * checkpoints_drop_namesakes(c, keep): drop the others with the name of ${keep}: a name means the newest
 * state that was given it. */
bool checkpoints_evict_oldest(struct checkpoints *c);
bool checkpoints_evict_spare(struct checkpoints *c);
bool checkpoints_delete(struct checkpoints *c, const char *name);
void checkpoints_keep_newest(struct checkpoints *c);
void checkpoints_drop_namesakes(struct checkpoints *c, const struct checkpoint *keep);

/* checkpoints_drop_after(c, evaluation): drop the unnamed ones of later states. */
void checkpoints_drop_after(struct checkpoints *c, uint64_t evaluation);

/* checkpoints_drop_state(c, evaluation): drop the unnamed one of that state, unless the session is
 * returning to it. */
void checkpoints_drop_state(struct checkpoints *c, uint64_t evaluation);

/* checkpoints_find(c, evaluation): the newest one of exactly that state; NULL if there is none. */
struct checkpoint *checkpoints_find(const struct checkpoints *c, uint64_t evaluation);

/* checkpoints_oldest(c, least): the oldest one of a state after more than ${least} evaluations. */
struct checkpoint *checkpoints_oldest(const struct checkpoints *c, uint64_t least);

/* checkpoints_newest(c, most): the newest one of a state after at most ${most} evaluations; NULL if there is
 * none. checkpoints_named(c, name). */
struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t most);
struct checkpoint *checkpoints_named(const struct checkpoints *c, const char *name);

/* checkpoints_names(c): "good (evaluation 3), base (evaluation 1)", NULL if no checkpoint has a name; given.
 */
char *checkpoints_names(const struct checkpoints *c);

#endif
