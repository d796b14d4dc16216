/*
 * The argument wait: a call whose evaluation takes longer is answered with the output so far, and the
 * evaluation continues without it (evaluations.h).
 */
#ifndef CALLS_EARLY_ANSWER_H
#define CALLS_EARLY_ANSWER_H

struct tool_call;

/* early_answer_when_due(call): the call has begun to wait for an operation. If that is an evaluation and the
 * call has the argument wait, answer the call when that time has passed. early_answer_forget(call): the call
 * has ended.
 */
void early_answer_when_due(struct tool_call *call);
void early_answer_forget(struct tool_call *call);

#define ANY_WAIT_ARGUMENT(its_description)                                                                   \
    ARGUMENT("wait", NUMBER, its_description, .minimum = 0, .maximum = 86400)
#define WAIT_ARGUMENT ANY_WAIT_ARGUMENT("")

#endif
