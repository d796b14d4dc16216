/*
 * The processes that belong to a session.
 */
#ifndef SESSION_WORK_PROCESSES_H
#define SESSION_WORK_PROCESSES_H

#include <stddef.h>
#include <sys/types.h>

struct session;

/* Of one session. Only named checkpoints can exceed this; the excess is not counted. */
#define PROCESSES_MOST 256

/* processes_list(s, out, capacity): the session's own process, its scratch copy, its snapshots and the copies
 * that answer look-ups, except those whose pid is not known yet. Returns how many were written. */
size_t processes_list(const struct session *s, pid_t *out, size_t capacity);

#endif
