/*
 * Look-ups that do not wait for the operation that runs. Each is answered by a copy that the process makes of
 * itself or, if the program runs threads, by one of the process's threads.
 */
#ifndef SESSION_WORK_LOOK_UPS_H
#define SESSION_WORK_LOOK_UPS_H

#include <sys/types.h>

struct look;
struct session;

/* look_cancel(look): its answer is no longer wanted. looks_cancel(s): the session is being closed. */
void look_cancel(struct look *look);
void looks_cancel(struct session *s);

/* looks_for_each_process(s, visit, arg): the copies that are answering now. */
void looks_for_each_process(const struct session *s, void (*visit)(void *arg, pid_t pid), void *arg);

#endif
