/*
 * The checkpoints of a session.
 */
#ifndef TOOLS_CHECKPOINTS_H
#define TOOLS_CHECKPOINTS_H

struct session;
struct tool_call;

/* checkpoints_list(call, session): answer with the states to which rollback-session can return, newest first.
 */
void checkpoints_list(struct tool_call *call, struct session *session);

#endif
