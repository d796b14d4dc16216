/*
 * The run of the current operation: its clock, its progress, and the escalation that stops it: interrupt, one
 * step, interrupt again, one step, kill.
 */
#ifndef SESSION_RUN_H
#define SESSION_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error_record;
struct operation;
struct run;
struct session;
struct strbuf;
struct worker;

/* So long a look-up waits for the end of what runs: a client that sends a call and a look-up together means
 * them in this order. */
#define RUN_ALONE_MS 100

struct run *run_new(struct session *s);
void run_free(struct run *run);

/* run_take_up(s, op): make it the current operation. run_put_back(s): it has not begun; put it at the head of
 * the queue. run_end(s): it was answered. */
void run_take_up(struct session *s, struct operation *op);
void run_put_back(struct session *s);
void run_end(struct session *s);

/* run_send(s): send it, to the scratch copy if there is one: RUNNING. run_go_on(s): it continues with its
 * remaining time: RUNNING. */
void run_send(struct session *s);
void run_go_on(struct session *s);

/* run_add_behind(s, op, out): append what the waiting ${op} waits for and what can be done about it; nothing
 * if it is next. */
void run_add_behind(const struct session *s, const struct operation *op, struct strbuf *out);

/* run_restart_clock(s): it has only now begun. */
void run_restart_clock(struct session *s);

/* run_limit(s): if it has no time limit, that of the session counts from now, with the time it has had. */
void run_limit(struct session *s);

/* run_is_asked_at_once(s): it arrived right after the last answer, so deferrable work is done while the
 * process is busy rather than in a pause. */
bool run_is_asked_at_once(const struct session *s);

/* run_note_progress(s, message, len): what the agent says it does. run_elapsed_s(s): since it was sent. */
void run_note_progress(struct session *s, const char *message, size_t len);
/* run_listen(s): somebody wants to hear of progress. run_progress(s, line): append what the agent says that
 * it does, or the last line printed. Returns how many bytes were printed. */
void run_listen(struct session *s);
uint64_t run_progress(const struct session *s, struct strbuf *line);
double run_elapsed_s(const struct session *s);
double run_limit_s(const struct session *s); /* 0: none */

/* run_is_stopped(s): it was interrupted, at its time limit or by a cancellation. run_word_stop(s, r,
 * was_killed): put this into words in the record. */
bool run_is_stopped(const struct session *s);
void run_word_stop(struct session *s, struct error_record *r, bool was_killed);

#endif
