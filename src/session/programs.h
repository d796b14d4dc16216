/*
 * The programs that a session's code has started, also those of a process that has ended meanwhile.
 */
#ifndef SESSION_PROGRAMS_H
#define SESSION_PROGRAMS_H

#include <stddef.h>
#include <sys/types.h>

struct session;

/* programs_list(s, out, capacity): the programs that its code has started and that run, children of children
 * left out; those that a process has left behind too, but for those that have cleared their environment.
 * Returns how many were written. */
size_t programs_list(const struct session *s, pid_t *out, size_t capacity);

/* programs_end(s): its process has ended: SIGKILL to what it has left running. */
void programs_end(struct session *s);

#endif
