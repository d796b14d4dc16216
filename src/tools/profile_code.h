/*
 * Profiling by samples.
 */
#ifndef TOOLS_PROFILE_CODE_H
#define TOOLS_PROFILE_CODE_H

struct session;
struct tool_call;

/*
 * profile_run(call, session, mode):
 * Evaluate the call's code, sample its stack, and answer with the functions in which the samples were.
 *
 * mode    cpu, time or alloc; its request, for the operation profile, has begun
 */
void profile_run(struct tool_call *call, struct session *session, const char *mode);

#endif
