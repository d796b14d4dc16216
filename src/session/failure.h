/*
 * What follows a failure: the error is reported and kept, the process is copied where it stands or looked at,
 * and is unwound.
 */
#ifndef SESSION_FAILURE_H
#define SESSION_FAILURE_H

#include <stdint.h>

struct error_record;
struct failure;
struct session;

struct failure *failure_new(void);
void failure_free(struct failure *f);

/* failure_forget(s): the process is gone. failure_take_held(s): the report of a stopped operation that waited
 * until it was known how it ended: given; NULL if there is none. */
void failure_forget(struct session *s);
struct error_record *failure_take_held(struct session *s);

/* failure_at_before(s): the state before the evaluation that is being unwound. */
uint64_t failure_at_before(const struct session *s);

#endif
