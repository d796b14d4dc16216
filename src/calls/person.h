/*
 * What a person does through the window: the agent's next reply in that session says it, and the log of
 * events shows it.
 */
#ifndef CALLS_PERSON_H
#define CALLS_PERSON_H

struct tool_call;

/* person_tell(call): if a person made this call, which has ended, and it may have changed something, note it
 * for the agent. */
void person_tell(struct tool_call *call);

#endif
