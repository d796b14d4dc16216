/*
 * Sessions that outlive the server.
 */
#ifndef TOOLS_SAVES_H
#define TOOLS_SAVES_H

struct session;
struct tool_call;

/* saves_save(call, session): save the session under the call's argument name, or its own name. */
void saves_save(struct tool_call *call, struct session *session);

/* saves_restore(call): restore the save that the argument name names, in place of a session of that name. */
void saves_restore(struct tool_call *call);

/* saves_delete(call): delete the save that the argument name names. */
void saves_delete(struct tool_call *call);

#endif
