/*
 * The processes that belong to a session.
 */
#ifndef SESSION_WORK_PROCESSES_H
#define SESSION_WORK_PROCESSES_H

#include <sys/types.h>

struct session;

/*
 * processes_visit(s, visit, arg):
 * Call ${visit} for the session's own process, its scratch copy and its snapshots.
 * Those whose pid is not known yet are left out.
 */
void processes_visit(const struct session *s, void (*visit)(void *arg, pid_t pid), void *arg);

#endif
