/*
 * The part of the thread tools that get-backtrace uses.
 */
#ifndef TOOLS_THREADS_H
#define TOOLS_THREADS_H

struct session;
struct tool_call;

/* threads_show_backtrace(call, s): answer with the stack of the running thread that the argument "thread"
 * names; the arguments from, max-frames and locals count. */
void threads_show_backtrace(struct tool_call *call, struct session *s);

#endif
