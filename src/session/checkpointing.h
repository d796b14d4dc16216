/*
 * When checkpoints are made, and how many stay.
 */
#ifndef SESSION_CHECKPOINTING_H
#define SESSION_CHECKPOINTING_H

#include <stdbool.h>

struct session;

/* checkpointing_keep_state(s): an evaluation was answered: keep its state, now or when there is time, and
 * continue with the queue. checkpointing_settle_down(s): the same without keeping it: idle, as soon as the
 * process has answered for a pending copy. */
void checkpointing_keep_state(struct session *s);
void checkpointing_settle_down(struct session *s);

/* checkpointing_begin(s, name): CHECKPOINTING. False if none can be made. */
bool checkpointing_begin(struct session *s, const char *name);

/* checkpointing_thin(s): drop checkpoints beyond the limit. checkpointing_thin_rarely(s): the same, but only
 * once there are more than half as many again: ending several processes in a row costs less than ending each
 * beside the copy that is being made. */
void checkpointing_thin(struct session *s);
void checkpointing_thin_rarely(struct session *s);

/* checkpointing_retire(s): make the current process a checkpoint as it is. */
void checkpointing_retire(struct session *s);

#endif
