/*
 * Child processes: start, signal, reap.
 *
 * Every Lisp process is a direct child of the server: the first is started here, and copies of it are made
 * with clone(CLONE_PARENT), so the kernel reports their ends to the server. The server is also a subreaper:
 * programs that a dead Lisp leaves running become its children too, are reaped silently, and are killed by
 * children_free().
 */
#ifndef PROC_CHILD_H
#define PROC_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/errors.h"

struct children;
struct child;
struct spawn_spec;

/* Its value identifies the session that has started a program. Lisps are started without it, and set it for
 * the programs that they start. */
#define CHILD_SESSION_VARIABLE "CL_MCP_SESSION"

/* How a process ended. */
struct child_end {
    bool is_known; /* false: the process has ended, but its status is unknown */
    int exit_code; /* meaningful when signal is 0 */
    int signal;    /* 0 if it exited by itself */
    /* It was killed, and the kernel reports that it has killed one more process for lack of memory. */
    bool is_short_of_memory;
    char why[200]; /* empty, or why the server ended it: "it sent ..." */
};

/* child_end_of_status(status): the end that waitpid() reported as ${status}. */
struct child_end child_end_of_status(int status);

/* child_end_text(end, out, size): " with exit code 3", to follow a verb; "" if it is unknown.
 * CHILD_END_TEXT is room for the longest. */
#define CHILD_END_TEXT 128
void child_end_text(const struct child_end *end, char *out, size_t size);

/* on_exit: called once, from the loop, when the process has been reaped; the child may be freed in it. */
typedef void child_on_exit(void *arg, const struct child_end *end);

/*
 * children_new(loop, err): become a subreaper and listen for SIGCHLD.
 * children_free(c): kill and reap every child, adopted orphans included, then stop listening. Blocks until
 * they are gone (they were sent SIGKILL).
 */
struct children *children_new(uv_loop_t *loop, struct err *err);
void children_free(struct children *c);

/* children_expect(c, mark): from now on only processes that were started with ${mark}, "NAME=VALUE", in their
 * environment can be adopted. NULL: all. */
void children_expect(struct children *c, const char *mark);

/*
 * child_spawn(c, spec, on_exit, arg, err):
 * Start a program as spawn_program() does, and take charge of it.
 *
 * Returns     given: child_free() it; NULL with ${err} set
 */
struct child *child_spawn(struct children *c, const struct spawn_spec *spec, child_on_exit *on_exit,
                          void *arg, struct err *err);

/*
 * child_adopt(c, pid, on_exit, arg):
 * Take charge of a process that another child made with clone(CLONE_PARENT). It may have ended already: its
 * end was remembered, and on_exit is called from the loop all the same.
 *
 * Returns     given; NULL if no child has or had that pid, if it has an owner already, or if it is the
 *             guardian or a program that a Lisp has left behind: a Lisp cannot make the server signal a
 *             process that is not its own copy
 */
struct child *child_adopt(struct children *c, pid_t pid, child_on_exit *on_exit, void *arg);

/* child_free(child): forget it; on_exit will not run. If it still runs, it is killed together with its
 * descendants, unless it was sent SIGKILL already. */
void child_free(struct child *child);

/* child_pid(child): its pid. */
pid_t child_pid(const struct child *child);

/* child_signal(child, signal): harmless once it has exited. child_interrupt(child, token): SIGURG that
 * carries ${token} (sigqueue). child_show(child, token): the same with SIGWINCH, which a process without a
 * handler ignores: a look-up is in its channel; negative: it is to note its position. */
void child_signal(struct child *child, int signal);
void child_interrupt(struct child *child, int token);
void child_show(struct child *child, int token);

/* child_expendable(child, more): how early the kernel kills this process when memory runs out: 0 is as for
 * the server itself, 1000 is before all others. Source: proc(5), oom_score_adj. */
void child_expendable(struct child *child, int more);

/* child_kill_tree(child): SIGKILL to the process and all its descendants. */
void child_kill_tree(struct child *child);

/* children_have(c, pid): whether a child with that pid has an owner, or had one that has freed it. */
bool children_have(struct children *c, pid_t pid);

#endif
