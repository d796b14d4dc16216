/*
 * Errors in threads. Those of the program's own threads become records like any other, and an error that
 * stands in a thread of the process is entered there.
 */
#ifndef SESSION_PROCESS_THREAD_ERRORS_H
#define SESSION_PROCESS_THREAD_ERRORS_H

#include <stdint.h>

struct error_record;
struct session;
struct sexp;

/* thread_errors_note(s, reply): record the errors of the program's threads that a reply lists, and which
 * of them no longer stand. thread_errors_note_in_copy(s, reply): the next reply reports those of a scratch
 * copy, which end with it. thread_errors_note_standing(s, r): note whether the report places its error in
 * a thread. thread_errors_standing(s, number): the record of the error that stands under the agent's
 * ${number}, borrowed, or NULL. */
void thread_errors_note(struct session *s, const struct sexp *reply);
void thread_errors_note_in_copy(struct session *s, const struct sexp *reply);
void thread_errors_note_standing(struct session *s, struct error_record *r);
struct error_record *thread_errors_standing(struct session *s, int64_t number);

#endif
