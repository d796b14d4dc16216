/*
 * Recovery: returning to a usable state after a death, by request, or from a file. A copy of a checkpoint, or
 * a saved image, becomes the process once it has passed a health check; definitions that no checkpoint held
 * are replayed.
 */
#ifndef SESSION_RECOVERY_H
#define SESSION_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "session/wording.h"

struct checkpoint;
struct child_end;
struct error_record;
struct recovery;
struct session;

/* recovery_new(): none under way; given. recovery_free(r). */
struct recovery *recovery_new(void);
void recovery_free(struct recovery *r);

/* recovery_begin(s, cause): start from the current state; an earlier recovery is forgotten. */
void recovery_begin(struct session *s, enum recovery_cause cause);

/* recovery_note_replaced(s, replaced, not_held): for the report of a restore that has begun; borrowed,
 * copied. */
void recovery_note_replaced(struct session *s, const struct replaced_facts *replaced, const char *not_held);

/* recovery_of_death(s, r, end, died_at): the process died. ${r}, taken, becomes the answer when the
 * session has been recovered; NULL if no operation waits for one. Evaluations up to ${died_at} that no
 * checkpoint holds are replayed. */
void recovery_of_death(struct session *s, struct error_record *r, const struct child_end *end,
                       uint64_t died_at);

/* recovery_go_to(s, cp): return to that checkpoint. */
void recovery_go_to(struct session *s, struct checkpoint *cp);

/* recovery_newest(s, most): the newest checkpoint of a state after at most ${most} evaluations that leads
 * to the current state; NULL if there is none. */
struct checkpoint *recovery_newest(const struct session *s, uint64_t most);

/* recovery_note_evaluation(s): an evaluation has ended without the death of the process. */
void recovery_note_evaluation(struct session *s);

#endif
