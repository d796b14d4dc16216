/*
 * The argument clean of run-tests and load-system: in a fresh Lisp beside the session, which ends afterwards.
 */
#ifndef TOOLS_CLEAN_START_H
#define TOOLS_CLEAN_START_H

struct outcome;
struct session;
struct tool_call;

/*
 * clean_start(call, s):
 * Create the session in which a clean run for ${s} takes place: with its directory, its sandbox and its
 * limits. The call is from then on one of that session's; if it is cancelled, the session ends.
 *
 * Returns     borrowed; NULL: the call has been answered
 */
struct session *clean_start(struct tool_call *call, struct session *s);

/* clean_begin_report(call): the run has ended: begin the call's text with what it is of. */
void clean_begin_report(struct tool_call *call);

/* clean_finish(call, outcome): the report of the run is in the call's text: end its session, add what the one
 * that it was for says about it, and answer. */
void clean_finish(struct tool_call *call, const struct outcome *outcome);

#endif
