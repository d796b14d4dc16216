/*
 * The argument wait: a call whose evaluation takes longer is answered with the output so far, and the
 * evaluation continues without it (evaluations.h).
 */
#ifndef CALLS_DETACH_H
#define CALLS_DETACH_H

struct tool_call;

/* detach_when_due(call): the call has begun to wait for an operation. If that is an evaluation and the call
 * has the argument wait, answer the call when that time has passed. detach_forget(call): the call has ended.
 */
void detach_when_due(struct tool_call *call);
void detach_forget(struct tool_call *call);

#define ANY_WAIT_ARGUMENT(its_description)                                                                   \
    ARGUMENT("wait", NUMBER, its_description, .minimum = 0, .maximum = 86400)
#define WAIT_ARGUMENT ANY_WAIT_ARGUMENT("")

#endif
