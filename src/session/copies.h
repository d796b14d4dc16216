/*
 * Copies of a session's process: asking for them, what the process answers, what they cost. Both checkpoints
 * and the frozen processes of errors wait in the agent's loop and answer nothing but the request for a copy
 * of themselves.
 */
#ifndef SESSION_COPIES_H
#define SESSION_COPIES_H

#include <stdbool.h>

#include "lisp/worker.h"

#define COPY_MS 30000       /* for copying the process */
#define COPY_ANSWER_MS 2000 /* for saying why there is no copy */

struct copies;
struct session;
struct error_record;

struct copies *copies_new(void);
void copies_free(struct copies *c);

/* copies_of(original, events, err): ask ${original} for a copy of itself, a silent one if nobody hears of its
 * hello: given; NULL with ${err} set if there are no descriptors for it. */
struct worker *copies_of(struct worker *original, const struct worker_events *events, struct err *err);

/*
 * The copy of the state that an operation leaves is asked for with the operation, so that the process need
 * not be waked for it.
 *
 * copies_ask_ahead(s): right after a call to the process; not where copies are dear, were refused the last
 * time, or there is no room for one more. copies_drop_ahead(s): it is not wanted; the process answers for it
 * all the same. copies_have_ahead(s). copies_of_process(s, events, err): the copy that was asked for ahead,
 * or one asked for now; as copies_of().
 */
void copies_ask_ahead(struct session *s);
void copies_drop_ahead(struct session *s);
bool copies_have_ahead(const struct session *s);
struct worker *copies_of_process(struct session *s, const struct worker_events *events, struct err *err);

/* copies_freeze(s, r): ask for a copy of the process, to be the frozen process of ${r} in place of the one
 * that it has. False, with the reason in the record, if there will be none. copies_note_frozen(r, answer):
 * the process has answered for it. */
bool copies_freeze(struct session *s, struct error_record *r);
void copies_note_frozen(struct error_record *r, const struct sexp_document *answer);

/* copies_frozen_events(r): what a frozen process tells. */
struct worker_events copies_frozen_events(struct error_record *r);

/* copies_severed(answer): given; which pipes and sockets of the process the copy has not; NULL for none. */
char *copies_severed(const struct sexp_document *answer);

/* copies_note_answer(s, answer): the process has answered for the copy; NULL: it has not. Returns whether it
 * has made it. copies_why_not(s): NULL, or why the last one could not be made. copies_refuse(s, why): one
 * could not be made because of ${why}, which is copied; NULL: forget about it. */
bool copies_note_answer(struct session *s, const struct sexp_document *answer);
const char *copies_why_not(const struct session *s);
void copies_refuse(struct session *s, const char *why);

/* copies_reason(answer): why it was refused, as the process says; NULL: it has not answered. Borrowed. */
const char *copies_reason(const struct sexp_document *answer);

/* copies_cost_ms(s): what the last ones cost; 0 while unknown. copies_are_dear(s): too dear to make one after
 * each evaluation. */
double copies_cost_ms(const struct session *s);
bool copies_are_dear(const struct session *s);

/* copies_forget_cost(s): the process is another one. */
void copies_forget_cost(struct session *s);

#endif
