/*
 * What an evaluation has left in the session's state, as the Lisp tells it: noted in the journal, so that the
 * history is that of the state of now.
 */
#ifndef SESSION_HISTORY_H
#define SESSION_HISTORY_H

struct journal_entry;
struct operation;
struct session;
struct sexp;

/* history_note(s, op, e, reply): ${op} was written as ${e}; ${reply} (may be NULL) is what the Lisp said in
 * the end. */
void history_note(struct session *s, const struct operation *op, struct journal_entry *e,
                  const struct sexp *reply);

/* history_note_replayed(e, reply): of ${e} only that was evaluated again. */
void history_note_replayed(struct journal_entry *e, const struct sexp *reply);

/* history_note_entry(s, op, reply): ${op} was evaluated inside an error that stands, with effect. */
void history_note_entry(struct session *s, const struct operation *op, const struct sexp *reply);

#endif
