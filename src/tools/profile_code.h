/*
 * Profiling by samples.
 */
#ifndef TOOLS_PROFILE_CODE_H
#define TOOLS_PROFILE_CODE_H

struct session;
struct tool_call;

/* profile_code_run(call, session): evaluate the call's code, sample its stack as the argument profile says,
 * and answer with the functions in which the samples were. */
void profile_code_run(struct tool_call *call, struct session *session);

#endif
