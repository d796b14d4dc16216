/*
 * The descendants of a process. Known on Linux only; elsewhere none are found.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* tree_children(pid, out, capacity): write the direct children of ${pid}; returns how many. */
size_t tree_children(pid_t pid, pid_t *out, size_t capacity);

/* tree_all_children(pid, count): all direct children, however many; given. */
pid_t *tree_all_children(pid_t pid, size_t *count);

/* tree_kill(pid): send SIGKILL to ${pid} and all its descendants. Each is stopped before its children are
 * listed, so that none escapes by forking. */
void tree_kill(pid_t pid);

#endif
