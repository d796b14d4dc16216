/*
 * Whether a deadline counts. Where the agent does what we have asked of it, the limit is there for a process
 * that never comes to an end. One that does not get a processor, because hundreds of others want one too, is
 * none: to end it would give up a state that is sound. So what counts is the processor time that it has had.
 */
#ifndef SESSION_PATIENCE_H
#define SESSION_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct patience {
    int limit_ms;     /* 0: there is none */
    int times;        /* that the limit was given once more */
    bool has_looked;  /* the last look is under way */
    pid_t pid;        /* the process that ${used_ms} is of */
    uint64_t used_ms; /* processor time that it had used when its time began */
};

/*
 * patience_begin(p, limit_ms, pid): a limit begins.
 *
 * limit_ms  0: the deadline counts whatever the process did
 * pid       the process that is waited for; 0 while it is not known
 */
void patience_begin(struct patience *p, int limit_ms, pid_t pid);

/*
 * patience_more_ms(p, pid): the deadline has come.
 *
 * pid      the process that is waited for now; a copy may have taken over
 * Returns  0 if the deadline counts, else after how many milliseconds to ask again: the limit, for a process
 * that would run if it got a processor and has had less than half of the limit; for one that waits, once, a
 * moment for reading what it has sent, since we may be short of a processor too
 */
int patience_more_ms(struct patience *p, pid_t pid);

#endif
