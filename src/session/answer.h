/*
 * Answers: each operation gets one, and what an answer changes in the session's records is changed here.
 */
#ifndef SESSION_ANSWER_H
#define SESSION_ANSWER_H

#include "session/journal.h"
#include "session/outcome.h"

struct error_record;

/* answer_deliver(s, op, outcome): tell whoever asked, and free the operation. */
void answer_deliver(struct session *s, struct operation *op, struct outcome *outcome);

/* answer_unavailable(s, op, why): it could not be done. answer_text(s, op, text): it was done. */
void answer_unavailable(struct session *s, struct operation *op, const char *why);
void answer_text(struct session *s, struct operation *op, const char *text);

/* answer_error(s, op, r): ${r} is taken: it becomes the session's last error if the operation keeps a record,
 * else it goes when it was delivered. answer_add_error(s, r): it is one more error, and nobody is answered.
 */
void answer_error(struct session *s, struct operation *op, struct error_record *r);
void answer_add_error(struct session *s, struct error_record *r);

/* answer_clear_error(s): there is no last error; the history stays. */
void answer_clear_error(struct session *s);

/* answer_note_package(s, reply): take :package from it. answer_write_journal(s, op, outcome): count and keep
 * what it evaluated, if it keeps records. */
void answer_note_package(struct session *s, const struct sexp *reply);
void answer_write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome,
                          const struct sexp *reply);

/* answer_keep_examination(s, document): if the current operation has read the frames of an error with their
 * locals, its reply becomes part of the error's record: taken, and *${document} is NULL. */
void answer_keep_examination(struct session *s, struct sexp_document **document);

/* answer_all_waiting(s, why): everything that waits now ends as unavailable. */
void answer_all_waiting(struct session *s, const char *why);

#endif
