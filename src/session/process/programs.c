/*
 * When a Lisp ends, the programs that it started become children of the server. A mark in their environment
 * identifies their session. A program that clears its environment is not found, and ends with the server.
 */
#include "session/process/programs.h"

#include <stdio.h>

#include "lisp/zygotes.h"
#include "proc/child.h"
#include "proc/orphans.h"
#include "proc/tree.h"
#include "session/core/core.h"
#include "session/process/process.h"

/* False if the session has had no process. */
static bool mark_of(const struct session *s, char mark[48])
{
    snprintf(mark, 48, CHILD_SESSION_VARIABLE "=%d", (int)s->process.first);
    return s->process.first != 0;
}

void programs_end(struct session *s)
{
    char mark[48];
    if (mark_of(s, mark))
        orphans_end(s->host->orphans, zygotes_children(s->host->options.zygotes), mark);
}

size_t programs_list(const struct session *s, pid_t *out, size_t capacity)
{
    char mark[48];
    size_t n = 0;
    if (session_core_pid(s) > 0)
        n = tree_children(session_core_pid(s), out, capacity);
    if (mark_of(s, mark))
        n += orphans_list(zygotes_children(s->host->options.zygotes), mark, out + n, capacity - n);
    return n;
}
