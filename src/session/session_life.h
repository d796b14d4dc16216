/*
 * Creating and freeing a session with its parts.
 */
#ifndef SESSION_SESSION_LIFE_H
#define SESSION_SESSION_LIFE_H

#include "session/core/actions.h"

struct sessions;

/* The functions behind the table of states, by enum session_action. */
extern session_action *const session_actions[SESSION_ACTION_COUNT];

/* session_new(all, name): one that is in no list and not counted. session_free(s): see sessions_close(). */
struct session *session_new(struct sessions *all, const char *name);
void session_free(struct session *s);

#endif
