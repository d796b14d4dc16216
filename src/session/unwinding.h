/*
 * Unwinding: if no copy keeps an error's frames they are read, and the failed operation is unwound.
 */
#ifndef SESSION_UNWINDING_H
#define SESSION_UNWINDING_H

struct error_record;
struct session;

/* unwinding_begin(s, r): ABORTING. ${r} is the record of the evaluation that failed, borrowed; NULL for
 * that of a look-up. unwinding_examine(s, r): read the frames with their locals first: EXAMINING. */
void unwinding_begin(struct session *s, struct error_record *r);
void unwinding_examine(struct session *s, struct error_record *r);

#endif
