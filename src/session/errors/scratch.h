/*
 * Scratch copies: an operation that runs in a copy of a snapshot or of the process itself. The copy is
 * discarded or, if a restart succeeded in it, promoted to the process.
 */
#ifndef SESSION_ERRORS_SCRATCH_H
#define SESSION_ERRORS_SCRATCH_H

#include <stdbool.h>

struct child_end;
struct error_record;
struct event;
struct operation;
struct session;

/* scratch_begin(s, op): take ${op} up and request the copy: SCRATCH; or answer why there is none. */
void scratch_begin(struct session *s, struct operation *op);

/* scratch_finish(s, e): the operation has succeeded in the copy. True if that has become the session's
 * process, and the operation is one of it; otherwise the operation was answered, and the document of ${e}
 * taken. scratch_fail(s, r), scratch_end(s, end): it has failed there, or the copy has ended: answer it; ${r}
 * is taken. */
bool scratch_finish(struct session *s, struct event *e);
void scratch_fail(struct session *s, struct error_record *r);
void scratch_end(struct session *s, const struct child_end *end);

#endif
