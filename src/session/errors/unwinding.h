/*
 * Unwinding: if no copy keeps an error's frames they are read, and the failed operation is unwound.
 */
#ifndef SESSION_ERRORS_UNWINDING_H
#define SESSION_ERRORS_UNWINDING_H

struct error_record;
struct session;

/* unwinding_begin(s, r): UNWINDING. ${r} is the record of the evaluation that failed, borrowed; NULL for
 * that of a look-up. unwinding_examine(s, r): read the frames with their locals first: EXAMINING.
 * unwinding_leave(s, then): the process, a copy of a snapshot, leaves the error that the session has left
 * before: UNWINDING, and then what ${then} does. */
void unwinding_begin(struct session *s, struct error_record *r);
void unwinding_leave(struct session *s, void (*then)(struct session *s));
void unwinding_examine(struct session *s, struct error_record *r);

#endif
