/*
 * The descendants of a process. Known on Linux only; elsewhere none are found.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* tree_children(pid, out, capacity): the direct children of ${pid}; returns how many were written. */
size_t tree_children(pid_t pid, pid_t *out, size_t capacity);

/* tree_all_children(pid, count): all of them, however many; given. */
pid_t *tree_all_children(pid_t pid, size_t *count);

/* tree_kill_descendants(pid): SIGKILL to all descendants of ${pid}, not to ${pid} itself. Parents are killed
 * before their children are listed again, so none slips through by forking. */
void tree_kill_descendants(pid_t pid);

#endif
