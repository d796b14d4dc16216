/*
 * The effect of an evaluation on the session's state, as the Lisp reports it. It is noted in the journal, so
 * that the history matches the current state.
 */
#ifndef SESSION_WORK_HISTORY_H
#define SESSION_WORK_HISTORY_H

#include <stdint.h>

#include "wire/sexp.h"

/* Bytes of definitions in one request; one entry's text is at most the other half of a message. */
#define HISTORY_LONGEST_DEFINITIONS ((size_t)SEXP_MAX_PAYLOAD / 2)

struct journal;
struct journal_entry;
struct operation;
struct session;
struct strbuf;

/* history_note(s, op, e, reply): ${op} was written to the journal as ${e}; ${reply} (may be NULL) is the
 * Lisp's final reply. */
void history_note(struct session *s, const struct operation *op, struct journal_entry *e,
                  const struct sexp *reply);

/* history_note_replayed(j, e, reply): only the parts of ${e} that ${reply} lists were evaluated again. */
void history_note_replayed(struct journal *j, struct journal_entry *e, const struct sexp *reply);

/* history_write_definitions(j, entry, since, request): the code of ${entry} that took effect, without what
 * belongs to evaluations up to ${since}, as elements of :definitions (docs/agent-protocol.md). */
void history_write_definitions(const struct journal *j, const struct journal_entry *entry, uint64_t since,
                               struct strbuf *request);

/* history_write_since(journal, since, request): the same of all entries after evaluation ${since} whose
 * effects the current state has, as the argument :definitions. */
void history_write_since(const struct journal *journal, uint64_t since, struct strbuf *request);

/* history_note_entry(s, op, reply): ${op} was evaluated in the error that stands, and had effects.
 * history_note_failed_entry(s, op, reply): it failed, after the forms that ${reply} names took effect. */
void history_note_entry(struct session *s, const struct operation *op, const struct sexp *reply);
void history_note_failed_entry(struct session *s, const struct operation *op, const struct sexp *reply);

#endif
