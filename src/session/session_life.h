/*
 * A session is made of its parts, and ends with them.
 */
#ifndef SESSION_SESSION_LIFE_H
#define SESSION_SESSION_LIFE_H

struct session;
struct sessions;

/* session_new(all, name): one that is in no list and was counted nowhere yet. session_free(s): see
 * sessions_close(). */
struct session *session_new(struct sessions *all, const char *name);
void session_free(struct session *s);

#endif
