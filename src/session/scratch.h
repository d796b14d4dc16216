/*
 * Scratch copies: an operation that runs in a copy of a frozen error, or of the process itself. The copy is
 * thrown away, or, when a restart led to a success, promoted to the process.
 */
#ifndef SESSION_SCRATCH_H
#define SESSION_SCRATCH_H

struct operation;
struct session;

/* scratch_begin(s, op): take it up and ask for the copy: COPYING; WAITING, while the frozen process answers
 * for the copy before; or answer why there is none. */
void scratch_begin(struct session *s, struct operation *op);

#endif
