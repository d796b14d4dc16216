/*
 * Whether a deadline counts. Where a Lisp works for us, a deadline is meant for a process that hangs. A
 * process that the scheduler starves is not hung, and killing it would discard a sound state. So a deadline
 * counts only when the process has used half of its limit as processor time, or waits for something.
 */
#ifndef PROC_CPU_GRACE_H
#define PROC_CPU_GRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_grace {
    int limit_ms;     /* 0: there is none */
    int times;        /* that the limit was given once more */
    bool has_looked;  /* the last look is under way */
    pid_t pid;        /* the process that ${used_ms} is of */
    uint64_t used_ms; /* processor time that it had used when its time began */
};

/*
 * cpu_grace_begin(g, limit_ms, pid): a limit begins.
 *
 * limit_ms  0: the deadline counts whatever the process did
 * pid       the process that is waited for; 0 while it is not known
 */
void cpu_grace_begin(struct cpu_grace *g, int limit_ms, pid_t pid);

/*
 * cpu_grace_more_ms(g, pid): the deadline has come.
 *
 * pid      the process that is waited for now; a copy may have taken over
 * Returns  0 if the deadline counts, else after how many milliseconds to ask again: the limit, for a process
 * that would run if it got a processor and has had less than half of the limit; for one that waits, once, a
 * moment for reading what it has sent, since we may be short of a processor too
 */
int cpu_grace_more_ms(struct cpu_grace *g, pid_t pid);

#endif
