/*
 * When checkpoints are made, and how many stay.
 */
#ifndef SESSION_CHECKPOINTING_H
#define SESSION_CHECKPOINTING_H

#include <stdbool.h>

struct session;

/* checkpointing_keep_state(s): an evaluation is over and was answered: keep its state, now or when there is
 * time, and go on. checkpointing_settle_down(s): the same without keeping it: idle, as soon as the process
 * has answered for the copy that it makes. */
void checkpointing_keep_state(struct session *s);
void checkpointing_settle_down(struct session *s);

/* checkpointing_begin(s, name): CHECKPOINTING. False if none can be made. */
bool checkpointing_begin(struct session *s, const char *name);

/* checkpointing_thin(s): keep no more than there may be. checkpointing_thin_rarely(s): once there are more
 * than half as many again; several processes that end one after the other cost less than as many that end one
 * by one, each beside the copy that is being made. */
void checkpointing_thin(struct session *s);
void checkpointing_thin_rarely(struct session *s);

/* checkpointing_retire(s): the process of now becomes a checkpoint as it is. */
void checkpointing_retire(struct session *s);

#endif
