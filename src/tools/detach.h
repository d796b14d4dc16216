/*
 * The argument wait: a call whose evaluation takes longer is answered with what there is by then, and the
 * evaluation goes on without it (evaluations.h).
 */
#ifndef TOOLS_DETACH_H
#define TOOLS_DETACH_H

struct session;
struct tool_call;

/* detach_when_due(call, session): the call has begun to wait for an operation of ${session}; if it has the
 * argument wait and that is an evaluation, it is answered then. detach_forget(call): it is over. */
void detach_when_due(struct tool_call *call, struct session *session);
void detach_forget(struct tool_call *call);

#define WAIT_ARGUMENT                                                                                        \
    {                                                                                                        \
        .name = "wait", .type = ARGUMENT_NUMBER, .minimum = 0, .maximum = 86400,                             \
        .description = "Seconds until it returns."                                                           \
    }

#endif
