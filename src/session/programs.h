/*
 * The programs that a session's code has started, also those of a process that has ended meanwhile.
 */
#ifndef SESSION_PROGRAMS_H
#define SESSION_PROGRAMS_H

struct session;

/* programs_end(s): its process has ended: SIGKILL to what it has left running. */
void programs_end(struct session *s);

#endif
