/*
 * The effect of an evaluation on the session's state, as the Lisp reports it. It is noted in the journal, so
 * that the history matches the current state.
 */
#ifndef SESSION_HISTORY_H
#define SESSION_HISTORY_H

struct journal;
struct journal_entry;
struct operation;
struct session;
struct sexp;

/* history_note(s, op, e, reply): ${op} was written to the journal as ${e}; ${reply} (may be NULL) is the
 * Lisp's final reply. */
void history_note(struct session *s, const struct operation *op, struct journal_entry *e,
                  const struct sexp *reply);

/* history_note_replayed(j, e, reply): only the parts of ${e} that ${reply} lists were evaluated again. */
void history_note_replayed(struct journal *j, struct journal_entry *e, const struct sexp *reply);

/* history_note_entry(s, op, reply): ${op} was evaluated in the error that stands, and had effects. */
void history_note_entry(struct session *s, const struct operation *op, const struct sexp *reply);

#endif
