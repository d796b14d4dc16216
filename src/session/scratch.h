/*
 * Scratch copies: an operation that runs in a copy of a frozen error or of the process itself. The copy is
 * discarded or, if a restart succeeded in it, promoted to the process.
 */
#ifndef SESSION_SCRATCH_H
#define SESSION_SCRATCH_H

struct operation;
struct session;

/* scratch_begin(s, op): take ${op} up and request the copy: COPYING; WAITING while the frozen process
 * answers an earlier request; or answer why there is no copy. */
void scratch_begin(struct session *s, struct operation *op);

#endif
