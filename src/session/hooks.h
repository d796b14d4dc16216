/*
 * After a return: forms that the session's code has registered for it (docs/hooks.md).
 */
#ifndef SESSION_HOOKS_H
#define SESSION_HOOKS_H

struct session;
struct sexp;

/* hooks_note(s, reply): whether a reply of the process that is returned to says that it has some.
 * hooks_call(s, reason): queue their evaluation ahead of all that waits, if there are any; ${reason} is
 * "return" or "start". The next reply reports what fails. */
void hooks_note(struct session *s, const struct sexp *reply);
void hooks_call(struct session *s, const char *reason);

#endif
