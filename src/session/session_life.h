/*
 * Creating and freeing a session with its parts.
 */
#ifndef SESSION_SESSION_LIFE_H
#define SESSION_SESSION_LIFE_H

struct session;
struct sessions;

/* session_new(all, name): one that is in no list and not counted. session_free(s): see sessions_close(). */
struct session *session_new(struct sessions *all, const char *name);
void session_free(struct session *s);

#endif
