/*
 * An error stands in the session's own process from its report to the next evaluation: nothing is unwound,
 * and the process serves requests from inside the error. An entry looks at the error, evaluates in one of its
 * frames or invokes one of its restarts. The error ends when another operation is requested or after a while
 * without an entry: the process is then copied, so that the error can be entered later, and unwound.
 */
#ifndef SESSION_ERRORS_STANDING_H
#define SESSION_ERRORS_STANDING_H

#include <stdbool.h>

struct error_record;
struct operation;
struct session;
struct sexp;

/* standing_begin(s, r): the process stands in ${r}; borrowed: STANDING, once it has answered for a pending
 * copy. */
void standing_begin(struct session *s, struct error_record *r);

/* standing_continued(s): if an error stood, a restart has continued from there. */
void standing_continued(struct session *s);

/* standing_accepts(s, op): it can run while the error stands. standing_enter(s, op): begin it, after copying
 * the process if it may have effects: COPYING, RUNNING. */
bool standing_accepts(const struct session *s, const struct operation *op);
void standing_enter(struct session *s, struct operation *op);

/* standing_is_entry(s, reply): the process still stands in the error in which the current operation ended
 * with
 * ${reply}. standing_note_effects(s): what the operation has changed there is not in the error's snapshot. */
bool standing_is_entry(const struct session *s, const struct sexp *reply);
void standing_note_effects(struct session *s);

/* standing_unwind(s, r): UNWINDING. ${r} is the record of the evaluation that failed, borrowed; NULL for
 * that of a look-up. standing_examine(s, r): if no copy keeps the error's frames, read them with their locals
 * first: EXAMINING. standing_leave_again(s): the process, a copy of a snapshot, leaves the error that the
 * session has left before: UNWINDING, and then it is the session's process. */
void standing_unwind(struct session *s, struct error_record *r);
void standing_leave_again(struct session *s);
void standing_examine(struct session *s, struct error_record *r);

#endif
