/*
 * What a person does through the window: the agent's next reply in that session says it, and the log of
 * events shows it.
 */
#ifndef CALLS_PERSON_DEEDS_H
#define CALLS_PERSON_DEEDS_H

struct tool_call;

/* person_deeds_tell(call): if a person made this call, which has ended, and it may have changed something,
 * note it for the agent. */
void person_deeds_tell(struct tool_call *call);

#endif
