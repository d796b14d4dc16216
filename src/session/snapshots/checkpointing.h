/*
 * When snapshots of states are made, and how many are kept.
 */
#ifndef SESSION_SNAPSHOTS_CHECKPOINTING_H
#define SESSION_SNAPSHOTS_CHECKPOINTING_H

#include <stdbool.h>

struct operation;
struct session;

/* checkpointing_settle_down(s, has_new_state): an operation has ended: be idle, once the process has answered
 * for a pending copy, and continue with the queue. After an evaluation make a snapshot of the new state, now
 * or when there is time. */
void checkpointing_settle_down(struct session *s, bool has_new_state);

/* checkpointing_perform(s, op): make a named snapshot and answer ${op}. */
void checkpointing_perform(struct session *s, struct operation *op);

/* checkpointing_thin(s): drop snapshots beyond the limit. checkpointing_tidy(s): IDLE: the same, and make the
 * snapshot that was put off: true if it is being made. */
void checkpointing_thin(struct session *s);
bool checkpointing_tidy(struct session *s);

/* checkpointing_retire(s): make the current process itself a snapshot, if there is none of its state. */
void checkpointing_retire(struct session *s);

#endif
