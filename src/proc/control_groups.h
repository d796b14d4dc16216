/*
 * A control group for each session, made inside the server's own. The kernel applies its limits to all
 * processes of the session, the programs that its code starts included, and ends them all at once. Known on
 * Linux only, with control groups of version 2 and Linux 5.14.
 */
#ifndef PROC_CONTROL_GROUPS_H
#define PROC_CONTROL_GROUPS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errors.h"

struct control_group;
struct control_groups;

/* What the kernel allows a group. It is limited only in what the server's own group has the controllers for.
 */
struct control_group_limits {
    uint64_t most_bytes; /* of memory */
    uint64_t most_tasks; /* processes and threads */
};

/*
 * control_groups_new(err):
 * Make groups inside the group of the calling process, which must be delegated to it. The process moves to
 * the group "server" in it, because a group that limits others may not hold processes. Processors are
 * shared equally between the groups that want them.
 *
 * Returns     given; NULL with ${err} set: there is no version 2, no right to make groups, or another
 *             process in the group
 * Source      Linux, Documentation/admin-guide/cgroup-v2.rst
 */
struct control_groups *control_groups_new(struct err *err);

/* control_groups_free(groups): after all its groups and the processes in them; NULL: does nothing. Groups
 * that are still not empty stay. */
void control_groups_free(struct control_groups *groups);

/* control_group_new(groups, limits): an empty group; NULL, with the reason in the log, if it cannot be made.
 */
struct control_group *control_group_new(struct control_groups *groups,
                                        const struct control_group_limits *limits);

/* control_group_add(group, pid): move that process into it, and with it all processes that it starts from
 * now on. If it cannot be moved, that is logged. */
void control_group_add(struct control_group *group, pid_t pid);

/* control_group_free(group): send SIGKILL to all processes in it and remove it; NULL: does nothing. */
void control_group_free(struct control_group *group);

#endif
