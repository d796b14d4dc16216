/*
 * Describing one system.
 */
#ifndef TOOLS_DESCRIBE_SYSTEMS_H
#define TOOLS_DESCRIBE_SYSTEMS_H

struct session;
struct tool_call;

/* describe_systems_show(call, session): answer with what the call's system is, or with its tree of
 * dependencies if the argument transitive is true. */
void describe_systems_show(struct tool_call *call, struct session *session);

#endif
