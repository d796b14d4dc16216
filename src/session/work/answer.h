/*
 * Answering operations. Each operation is answered exactly once; this file also updates the session's
 * records.
 */
#ifndef SESSION_WORK_ANSWER_H
#define SESSION_WORK_ANSWER_H

#include "session/records/journal.h"
#include "session/records/outcome.h"

struct error_record;
struct fact;

/* answer_deliver(s, op, outcome): call the operation's callback and free the operation. */
void answer_deliver(struct session *s, struct operation *op, struct outcome *outcome);

/* answer_unavailable(s, op, why), answer_fact(s, op, why): it could not be performed. */
void answer_unavailable(struct session *s, struct operation *op, const char *why);
void answer_fact(struct session *s, struct operation *op, const struct fact *why);

/* answer_error(s, op, r): ${r} is taken. It becomes the session's last error if the operation keeps a record;
 * otherwise it is freed after delivery. answer_add_error(s, r): add an error to the history without answering
 * anything. */
void answer_error(struct session *s, struct operation *op, struct error_record *r);
void answer_add_error(struct session *s, struct error_record *r);

/* answer_error_of_entry(s, r): answer the current operation with ${r}, taken, which it met in the error that
 * it entered. That one still stands, so ${r} is not kept. */
void answer_error_of_entry(struct session *s, struct error_record *r);

/* answer_clear_error(s): clear the last error; the history stays. */
void answer_clear_error(struct session *s);

/* answer_note_package(s, reply): read :package from it. answer_write_journal(s, op, outcome, reply):
 * count the evaluation and add it to the journal, if the operation keeps records; ${reply} may be NULL. */
void answer_note_package(struct session *s, const struct sexp *reply);
void answer_write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome,
                          const struct sexp *reply);

/* answer_keep_examination(s, document): if the current operation was an examination of an error, and its
 * reply holds more frames with their locals than are known, add it to the error's record: taken, and
 * *${document} becomes NULL. */
void answer_keep_examination(struct session *s, struct sexp_document **document);

/* answer_all_waiting(s, why): answer every waiting operation as unavailable. */
void answer_all_waiting(struct session *s, const char *why);

#endif
