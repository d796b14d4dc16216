/*
 * When checkpoints are made, and how many are kept.
 */
#ifndef SESSION_CHECKPOINTING_H
#define SESSION_CHECKPOINTING_H

#include <stdbool.h>

struct session;

/* checkpointing_keep_state(s): an evaluation was answered: make a checkpoint, now or when there is time,
 * and continue with the queue. checkpointing_settle_down(s): the same without a checkpoint: idle, once the
 * process has answered for a pending copy. */
void checkpointing_keep_state(struct session *s);
void checkpointing_settle_down(struct session *s);

/* checkpointing_begin(s, name): CHECKPOINTING. False if no checkpoint can be made. */
bool checkpointing_begin(struct session *s, const char *name);

/* checkpointing_thin(s): drop checkpoints beyond the limit. checkpointing_thin_rarely(s): the same, but
 * only if the limit is exceeded by half: ending several processes in a row is cheaper than ending one
 * beside each copy that is being made. */
void checkpointing_thin(struct session *s);
void checkpointing_thin_rarely(struct session *s);

/* checkpointing_retire(s): make the current process itself a checkpoint. */
void checkpointing_retire(struct session *s);

#endif
