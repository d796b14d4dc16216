/*
 * Whether a deadline counts. When the server waits for a Lisp's own work, a deadline is meant for a process
 * that hangs. A process that the scheduler starves of CPU time is not hung, and killing it would discard a
 * sound state. So a deadline counts only when the process has used half of its limit as CPU time, or waits
 * for something.
 */
#ifndef PROC_CPU_GRACE_H
#define PROC_CPU_GRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_grace {
    int limit_ms;     /* 0: none */
    int times;        /* how often the limit was extended */
    bool has_looked;  /* the final check is under way */
    pid_t pid;        /* the process to which ${used_ms} belongs */
    uint64_t used_ms; /* the CPU time that it had used at the start */
};

/*
 * cpu_grace_begin(g, limit_ms, pid): a limit begins.
 *
 * limit_ms  0: the deadline counts whether or not the process ran
 * pid       the process that is waited for; 0 while it is not known
 */
void cpu_grace_begin(struct cpu_grace *g, int limit_ms, pid_t pid);

/*
 * cpu_grace_more_ms(g, pid): the deadline has come.
 *
 * pid      the process that is waited for now; a copy may have taken over
 * Returns  0 if the deadline counts, otherwise the milliseconds after which to ask again: the limit, for a
 *          runnable process that has used less than half of the limit; for a process that waits, once, a
 *          moment for reading what it has sent, since the server may be short of CPU time too
 */
int cpu_grace_more_ms(struct cpu_grace *g, pid_t pid);

/* cpu_grace_stretched(limit_ms): this limit, many times if the kernel gives this process memory as slowly,
 * which is most of what a Lisp does that starts or is copied. A processor that is emulated needs 30 times as
 * long. */
int cpu_grace_stretched(int limit_ms);

#endif
