/*
 * How a session gets its process: it becomes a fresh copy of the zygote, a copy of one of its snapshots, or a
 * process from an image, or a copy of another session's process. First use, roll-back, recovery after a
 * death, restore, resume and a new session that begins as another are this one way; if a process does not
 * start or is not healthy, the next older snapshot is taken, and the report says so.
 */
#ifndef SESSION_LIFE_BECOMING_H
#define SESSION_LIFE_BECOMING_H

#include <stdbool.h>
#include <stdint.h>

#include "session/core/wording.h"

struct child_end;
struct error_record;
struct session;
struct snapshot;

/* becoming_fresh(s): a new session starts a process: STARTING. */
void becoming_fresh(struct session *s);

/* becoming_branch(s): a new session waits for its process, a copy of another session's: STARTING. */
void becoming_branch(struct session *s);

/* becoming_snapshot(s, sn): return to that snapshot by request: STARTING. */
void becoming_snapshot(struct session *s, struct snapshot *sn);

/* becoming_image(s, cause): a process from an image was started, by a restore or a resume: STARTING. */
void becoming_image(struct session *s, enum start_cause cause);

/* becoming_survivor(s, cause, r, end): the process died. ${r}, taken, becomes the answer once the session has
 * a process; NULL if no operation waits for one. Evaluations that no snapshot holds are replayed. With
 * START_DEATH_IN_ENTRY the process stands in the error again in which the entry ended it. */
void becoming_survivor(struct session *s, enum start_cause cause, struct error_record *r,
                       const struct child_end *end);

/* becoming_newest(s, most): the newest snapshot of a state after at most ${most} evaluations that leads to
 * the current state; NULL if there is none. */
struct snapshot *becoming_newest(const struct session *s, uint64_t most);

#endif
