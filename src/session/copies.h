/*
 * Copies of a session's process: requesting them, the process's replies, and their cost. Checkpoints and the
 * frozen processes of errors wait in the agent's loop and answer only requests for a copy of themselves.
 */
#ifndef SESSION_COPIES_H
#define SESSION_COPIES_H

#include <stdbool.h>

#include "lisp/worker.h"

#define COPY_MS 30000       /* for copying the process */
#define COPY_ANSWER_MS 2000 /* for the process to report why there is no copy */

struct copies;
struct session;
struct error_record;

/* copies_new(): no copy yet; given. copies_free(c): end the copy that was requested ahead, too. */
struct copies *copies_new(void);
void copies_free(struct copies *c);

/* copies_of(original, events, err): ask ${original} for a copy of itself, a silent one if nothing waits
 * for its hello: given; NULL with ${err} set if no descriptors are left. */
struct worker *copies_of(struct worker *original, const struct worker_events *events, struct err *err);

/*
 * The copy of the state after an operation is requested together with the operation, so that the process need
 * not be woken again.
 *
 * copies_ask_ahead(s): call it right after sending the operation. It does nothing if copies are expensive, if
 * the last one was refused, or if there is no room for another. copies_drop_ahead(s): discard the copy; the
 * process answers for it all the same. copies_have_ahead(s): such a copy exists. copies_of_process(s, events,
 * err): the copy that was requested ahead, or a new one; as copies_of().
 */
void copies_ask_ahead(struct session *s);
void copies_drop_ahead(struct session *s);
bool copies_have_ahead(const struct session *s);
struct worker *copies_of_process(struct session *s, const struct worker_events *events, struct err *err);

/* copies_freeze(s, r): request a copy of the process as the frozen process of ${r}, replacing the one it
 * has. False, with the reason in the record, if none can be made. copies_note_frozen(r, answer): the
 * process has answered for it. */
bool copies_freeze(struct session *s, struct error_record *r);
void copies_note_frozen(struct error_record *r, const struct sexp_document *answer);

/* copies_frozen_events(r): the events of a frozen process. */
struct worker_events copies_frozen_events(struct error_record *r);

/* copies_severed(answer): given; the pipes and sockets of the process that the copy lacks; NULL for none. */
char *copies_severed(const struct sexp_document *answer);

/* copies_note_answer(s, answer): the process has answered for the copy; NULL: it has not. Returns whether
 * the copy was made. copies_why_not(s): why the last one could not be made, or NULL. copies_refuse(s,
 * why): record that one could not be made because of ${why}, which is copied; NULL clears this. */
bool copies_note_answer(struct session *s, const struct sexp_document *answer);
const char *copies_why_not(const struct session *s);
void copies_refuse(struct session *s, const char *why);

/* copies_cost_ms(s): the cost of recent copies; 0 while unknown. copies_are_expensive(s): they cost too much
 * to make one after each evaluation. */
double copies_cost_ms(const struct session *s);
bool copies_are_expensive(const struct session *s);

/* copies_forget_cost(s): the session has got another process. */
void copies_forget_cost(struct session *s);

#endif
