/*
 * Evaluations that outlive the call that started them, and their results: with the argument wait, a call
 * whose evaluation takes longer is answered with the output so far, and the evaluation continues without it.
 * Running and waiting evaluations are known to their sessions.
 */
#ifndef CALLS_EVALUATIONS_H
#define CALLS_EVALUATIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "calls/tool.h"
#include "session/output/capture.h"

struct evaluations;
struct session;
struct sessions;

/* The number of results that are kept for all sessions together; the oldest is dropped for the next. */
#define EVALUATIONS_KEPT 32

/* An evaluation that continues without its call, or has ended. */
struct evaluation {
    struct list node;
    struct evaluations *all;
    char *session; /* the session's name */
    char *what;
    uint64_t number;
    bool has_ended;
    uint64_t seen[2]; /* how much of its output was shown, ended or not, by enum worker_stream */
    /* Once it has ended: */
    struct strbuf text;
    json_t *structured;
    bool is_error;
    double took_s;     /* since it began, or waited behind others */
    uint64_t began_ms; /* loop time */
};

/* evaluations_new(loop, sessions): both outlive it, except that sessions_free() must be called before
 * evaluations_free(). */
struct evaluations *evaluations_new(uv_loop_t *loop, struct sessions *sessions);
void evaluations_free(struct evaluations *all);

/* evaluations_await(call, session): the call has begun to wait for an operation. If that is an evaluation and
 * the call has the argument wait, answer the call when that time has passed, and keep the result; if the call
 * says nothing of time, when the evaluation has waited for the session's time limit behind one that has no
 * limit. evaluations_forget(call): the call has ended. */
void evaluations_await(struct tool_call *call, struct session *session);
void evaluations_forget(struct tool_call *call);

/* evaluations_tell_less(session, number): its next reply need not report that this evaluation has ended. */
void evaluations_tell_less(struct session *session, uint64_t number);

/* evaluations_find(all, session, number): the newest with that number; 0: the newest of all. NULL if there
 * is none, or it was dropped. evaluations_at(all, n): 0 for the newest; NULL past the end. Both borrowed,
 * until the loop runs again. */
struct evaluation *evaluations_find(struct evaluations *all, const char *session, uint64_t number);
struct evaluation *evaluations_at(struct evaluations *all, size_t n);

#define ANY_WAIT_ARGUMENT(its_description)                                                                   \
    ARGUMENT("wait", NUMBER, its_description, .minimum = 0, .maximum = 86400)
#define WAIT_ARGUMENT ANY_WAIT_ARGUMENT("")

#endif
