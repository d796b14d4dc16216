/*
 * Saving a session: a copy of its process writes itself to a file and ends, while the session continues.
 */
#ifndef SESSION_LIFE_SAVING_H
#define SESSION_LIFE_SAVING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

struct operation;
struct saving;
struct session;

/* saving_start(s, op): begin to save; the operation leaves the queue. False if no copy can be made; the
 * operation was then answered. */
bool saving_start(struct session *s, struct operation *op);

/* saving_start_suspended(s, op): the same for a suspended session, whose image becomes the save. False if the
 * store cannot take it; the operation keeps waiting. */
bool saving_start_suspended(struct session *s, struct operation *op);

/* saving_start_suspension(s, image, stored, err): have a copy write itself to ${image} (taken). ${stored} is
 * called when the file is complete, which is given to it, or with NULL when it could not be made. */
typedef void saving_stored(struct session *s, char *image);
bool saving_start_suspension(struct session *s, char *image, saving_stored *stored, struct err *err);

/* savings_count(s): the saves of this session that wait or are under way. */
size_t savings_count(const struct session *s);

/* saving_cancel(saving): its result is no longer wanted. savings_cancel(s): the same for all of this
 * session. */
void saving_cancel(struct saving *saving);
void savings_cancel(struct session *s);

#endif
