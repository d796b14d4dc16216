/*
 * The run of the current operation: its clock, its progress, and the escalation that stops it: interrupt, one
 * step, interrupt again, one step, kill.
 */
#ifndef SESSION_WORK_RUN_H
#define SESSION_WORK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/core/states.h"

struct error_record;
struct operation;
struct session;
struct strbuf;
struct worker;

/* How long a look-up waits for the running operation to end: a client that sends a call and a look-up
 * together expects the call to run first. */
#define RUN_ALONE_MS 100

/* run_take_up(s, op): make it the current operation. */
void run_take_up(struct session *s, struct operation *op);

/* run_send(s): send it, to the scratch copy if there is one: RUNNING. run_go_on(s): it continues with its
 * remaining time: RUNNING. */
void run_send(struct session *s);
void run_go_on(struct session *s);

/* run_limit(s): if it has no time limit, the session's applies; the time that it has run counts. */
void run_limit(struct session *s);

/* run_note_progress(s, message, len): the agent's message about its progress. run_elapsed_s(s): since it
 * was sent. */
void run_note_progress(struct session *s, const char *message, size_t len);
/* run_progress(s, line): append the agent's progress message, or the last line printed. Returns the number of
 * bytes printed. */
uint64_t run_progress(const struct session *s, struct strbuf *line);
double run_elapsed_s(const struct session *s);

/* run_limit_s(s): its time limit; 0: none. */
double run_limit_s(const struct session *s);

/* run_begin_work(s, state, deadline_ms): work after or beside operations that can be interrupted begins:
 * enter
 * ${state}. run_kill(s): send SIGKILL to the process that runs: KILLING. */
void run_begin_work(struct session *s, enum session_state state, int deadline_ms);
void run_kill(struct session *s);

/* run_is_pressed(s): what the process is doing was interrupted, and has not ended yet. */
bool run_is_pressed(const struct session *s);

/* run_is_stopped(s): it was interrupted, at its time limit or by a cancellation. run_note_stop(s, r): if
 * it was, the record describes that. */
bool run_is_stopped(const struct session *s);
void run_note_stop(struct session *s, struct error_record *r);

#endif
