/*
 * Responsible for making snapshots of states. A copy is requested after an evaluation was answered, and
 * counts once the process has confirmed it.
 */
#include "session/snapshots/checkpointing.h"

#include <stddef.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/run.h"

/* An expensive copy is made when this many times its cost has passed since the last one. */
#define DEFERRED_COPY_INTERVAL 20

static size_t most_snapshots(const struct session *s)
{
    return (size_t)limits_int(&s->limits, LIMIT_CHECKPOINTS);
}

void checkpointing_thin(struct session *s)
{
    snapshots_thin(&s->snapshots, most_snapshots(s));
}

/* The process is at rest. Ending several snapshots in a row is cheaper than ending one beside each copy that
 * is being made. */
void session_step_rest(struct session *s)
{
    size_t most = most_snapshots(s);
    if (snapshots_are_too_many(&s->snapshots, most + most / 2))
        checkpointing_thin(s);
    session_rest(s);
}

static void make(struct session *s)
{
    struct err err;
    if (!copies_snapshot(s, NULL, NULL, STEP_rest, &err))
        xstrset(&s->copies.why_not, err.message);
}

/* There are pauses between expensive copies. */
static bool is_to_wait(const struct session *s)
{
    double since_ms = (double)(uv_hrtime() - s->snapshots.asked_at_ns) / 1e6;
    return copies_are_expensive(s) && since_ms < DEFERRED_COPY_INTERVAL * s->copies.ms;
}

void checkpointing_settle_down(struct session *s, bool has_new_state)
{
    if (worker_state(s->worker) == WORKER_BUSY) {
        copies_await(s, COPY_ANSWER_MS, STEP_rest);
        return;
    }
    if (!has_new_state) {
        session_rest(s);
        return;
    }
    bool is_kept = most_snapshots(s) > 0 && worker_is_alive(s->worker);
    bool is_put_off = is_kept && is_to_wait(s);
    s->snapshots.is_one_owed = s->snapshots.is_one_owed || is_put_off;
    session_enter_state(s, SESSION_IDLE, 0);
    if (is_kept && !is_put_off)
        make(s);
    session_look_at_queue(s);
}

void session_step_answer_copy(struct session *s)
{
    const struct sexp_document *answer = s->copies.answer;
    if (s->current != NULL && answer == NULL)
        answer_unavailable(s, s->current, s->copies.why_not);
    else if (s->current != NULL)
        answer_deliver(
            s, s->current,
            &(struct outcome){.kind = session_is_reply(answer, "ok") ? OUTCOME_OK : OUTCOME_REFUSED,
                              .reply = sexp_root(answer)});
    session_rest(s);
}

void checkpointing_perform(struct session *s, struct operation *op)
{
    struct err err;
    run_take_up(s, op);
    if (copies_snapshot(s, NULL, op->name, STEP_answer_copy, &err))
        return;
    xstrset(&s->copies.why_not, err.message);
    answer_unavailable(s, op, err.message);
}

void checkpointing_retire(struct session *s)
{
    /* A process with threads cannot be copied, so it could not be returned to. */
    if (s->worker != NULL && worker_is_alive(s->worker) && !s->flags.has_threads &&
        snapshots_find(&s->snapshots, s->at) == NULL)
        copies_adopt(s, s->worker, s->at);
    else
        worker_free(s->worker);
    s->worker = NULL;
    s->flags.has_threads = false;
}

bool checkpointing_tidy(struct session *s)
{
    checkpointing_thin(s);
    if (s->snapshots.is_one_owed && worker_is_alive(s->worker))
        make(s);
    return s->state == SESSION_COPYING;
}
