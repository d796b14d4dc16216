/*
 * When a Lisp ends, the programs that it started become children of the server. A mark in their environment
 * identifies their session. A program that clears its environment is not found, and ends with the server.
 */
#include "session/programs.h"

#include <signal.h>
#include <stdio.h>

#include "lisp/zygotes.h"
#include "proc/child.h"
#include "proc/tree.h"
#include "session/process.h"
#include "session/session_core.h"

#define MOST_AT_ONCE 64
#define MOST_ROUNDS 16

static size_t left_behind(const struct session *s, pid_t *out, size_t capacity)
{
    char mark[48];
    pid_t first = process_first(s);
    if (first == 0)
        return 0;
    snprintf(mark, sizeof mark, CHILD_SESSION_VARIABLE "=%d", (int)first);
    return children_orphans(zygotes_children(s->host->zygotes), mark, out, capacity);
}

void programs_end(struct session *s)
{
    pid_t pids[MOST_AT_ONCE];
    size_t n = MOST_AT_ONCE;
    for (int round = 0; round < MOST_ROUNDS && n == MOST_AT_ONCE; round++) {
        n = left_behind(s, pids, MOST_AT_ONCE);
        for (size_t i = 0; i < n; i++) {
            tree_kill_descendants(pids[i]);
            kill(pids[i], SIGKILL);
        }
    }
}

size_t programs_list(const struct session *s, pid_t *out, size_t capacity)
{
    size_t n = 0;
    if (session_core_pid(s) > 0)
        n = tree_children(session_core_pid(s), out, capacity);
    return n + left_behind(s, out + n, capacity - n);
}
