/*
 * The programs that a session's code has started, including those of a process that has ended.
 */
#ifndef SESSION_PROCESS_PROGRAMS_H
#define SESSION_PROCESS_PROGRAMS_H

#include <stddef.h>
#include <sys/types.h>

struct session;

/* programs_list(s, out, capacity): the running programs that its code has started, without their own
 * children, including those that a dead process left behind. Programs that have cleared their environment
 * are not found. Returns the number written. */
size_t programs_list(const struct session *s, pid_t *out, size_t capacity);

/* programs_end(s): its process has ended: send SIGKILL to the programs that it left running. */
void programs_end(struct session *s);

#endif
