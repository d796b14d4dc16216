/*
 * Hooks: forms that a session's code has registered for evaluation after a return (docs/hooks.md).
 */
#ifndef SESSION_PROCESS_HOOKS_H
#define SESSION_PROCESS_HOOKS_H

#include <stdbool.h>

struct session;
struct sexp;

/* hooks_note(s, reply): record whether the process that is returned to reports hooks, and have the next reply
 * name the foreign libraries that a saved session had loaded. hooks_call(s,
 * is_start): if it has any, queue their evaluation ahead of all waiting operations; ${is_start}: the process
 * is from an image. The next reply reports failures. hooks_leave_out(s): do not call them; the next reply
 * says so. */
void hooks_note(struct session *s, const struct sexp *reply);
void hooks_call(struct session *s, bool is_start);
void hooks_leave_out(struct session *s);

#endif
