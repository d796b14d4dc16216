/*
 * Copies of a session's process: requesting them, the process's replies, and their cost.
 */
#ifndef SESSION_SNAPSHOTS_COPIES_H
#define SESSION_SNAPSHOTS_COPIES_H

#include <stdbool.h>

#include "lisp/worker.h"
#include "session/core/states.h"

#define COPY_MS 30000       /* for copying the process */
#define COPY_ANSWER_MS 2000 /* for the process to report why there is no copy */

struct error_record;
struct session;
struct snapshot;

/* copies_of(s, original, events, evict, err): ask ${original} for a copy of itself, a silent one if nothing
 * waits for its hello: given; NULL with ${err} set. At the limit on processes ${evict} drops a snapshot, as
 * those of eviction.h do. */
struct worker *copies_of(struct session *s, struct worker *original, const struct worker_events *events,
                         bool (*evict)(struct session *s), struct err *err);

/* copies_for_another(s, original, events, err): the same for ${s}, another session than that of ${original}:
 * the copy has output pipes of its own, and its programs are those of ${s}. */
struct worker *copies_for_another(struct session *s, struct worker *original,
                                  const struct worker_events *events, struct err *err);

/* copies_severed(answer): the pipes and sockets that the copy lacks, from the process's answer: given, NULL
 * for none. */
char *copies_severed(const struct sexp *answer);

/*
 * copies_snapshot(s, r, name, next, err):
 * Copy the process: a snapshot of the current state.
 *
 * r           borrowed: the error that the process stands in, whose earlier snapshot is dropped; NULL: none
 * name        borrowed: a checkpoint of that name; NULL: a snapshot without a name
 * Returns     false with ${err} set if none can be requested; nothing else has changed then
 * States      COPYING, then what ${next} leads to
 */
bool copies_snapshot(struct session *s, struct error_record *r, const char *name, enum session_step next,
                     struct err *err);

/* copies_await(s, deadline_ms, next): the process has been asked for a copy that is not a snapshot: wait
 * until it has answered. States: COPYING. */
void copies_await(struct session *s, int deadline_ms, enum session_step next);

/* copies_adopt(s, worker, evaluation): ${worker}, a copy of the process or the process itself, waits as a
 * snapshot of that state from now on: taken. Returns it, borrowed. */
struct snapshot *copies_adopt(struct session *s, struct worker *worker, uint64_t evaluation);

/* copies_are_expensive(s): they cost too much to make one after each evaluation. */
bool copies_are_expensive(const struct session *s);

#endif
