/*
 * Responsible for starting operations one after the other, each in the way of its kind.
 */
#include "session/life/queue.h"

#include <stdlib.h>
#include <string.h>

#include "session/core/core.h"
#include "session/core/wording.h"
#include "session/errors/scratch.h"
#include "session/errors/standing.h"
#include "session/life/becoming.h"
#include "session/life/branch.h"
#include "session/life/rollback.h"
#include "session/life/saving.h"
#include "session/life/suspension.h"
#include "session/process/joined.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/run.h"

/* The number that the journal will give to an evaluation submitted now, after all that wait. The client is
 * told it at once, so the number of one that was cancelled while it waited is not given again: the journal
 * skips it. */
static uint64_t next_number(struct session *s)
{
    if (s->numbers.last < s->numbers.evaluations)
        s->numbers.last = s->numbers.evaluations;
    return ++s->numbers.last;
}

static uint64_t waited_ms(const struct session *s, const struct operation *op)
{
    return uv_now(s->host->options.loop) - op->submitted_ms;
}

void queue_add_behind(const struct session *s, const struct operation *op, enum fact_kind kind,
                      struct strbuf *out)
{
    const struct operation *first = session_first_operation(s);
    if (first == NULL || first == op)
        return;
    struct strbuf name = {0};
    operation_add_name(first, &name);
    uint64_t between = 0;
    for (const struct list *node = first->node.next; node != &op->node && node != &s->queue;
         node = node->next)
        between++;
    s->host->options.wording->fact(FACT(kind, .texts = {strbuf_string(&name)}, .numbers = {between},
                                        .seconds = first == s->current ? run_elapsed_s(s) : -1),
                                   out);
    strbuf_fini(&name);
}

static void tell_running(struct session *s, struct operation *op)
{
    struct strbuf line = {0};
    uint64_t printed = run_progress(s, &line);
    op->asked.on_progress(op->asked.arg, run_elapsed_s(s), printed, strbuf_string(&line));
    strbuf_fini(&line);
}

/* Tell an operation that waits what it waits behind. */
static void tell_waiting(struct session *s, struct operation *op)
{
    uint64_t ms = waited_ms(s, op);
    if (s->place.joined.image != NULL && op == session_first_operation(s))
        op->asked.on_progress(op->asked.arg, (double)ms / 1000.0, 0, s->place.joined.doing);
    if (op->behind.len == 0 || op == session_first_operation(s) || ms < (uint64_t)s->host->waits.patience_ms)
        return;
    struct strbuf line = {0};
    queue_add_behind(s, op, FACT_WAITING, &line);
    op->asked.on_progress(op->asked.arg, (double)ms / 1000.0, 0, strbuf_string(&line));
    strbuf_fini(&line);
}

/* It ends without having begun. */
static void answer_unbegun(struct session *s, struct operation *op, const char *type, const char *message)
{
    struct error_record *r = error_record_make(type, message, NULL);
    r->session = s;
    error_record_cannot_be_entered(r, FACT_NEVER_RAN, NULL);
    answer_error(s, op, r);
}

/* Its client gave it a time limit, which passed before it could begin. */
static void expire(struct session *s, struct operation *op)
{
    struct strbuf behind = {0};
    queue_add_behind(s, op, FACT_BEHIND, &behind);
    char *text = session_words(
        s, FACT(FACT_EXPIRED, .texts = {strbuf_string(&behind)}, .seconds = op->asked.timeout_ms / 1000.0));
    answer_unbegun(s, op, "TIMEOUT", text);
    strbuf_fini(&behind);
    free(text);
}

static bool is_limited(const struct operation *op)
{
    return op->asked.timeout_ms > 0 && !op->asked.is_look_up;
}

/* NULL if every waiting operation is within its limit. */
static struct operation *first_expired(struct session *s)
{
    list_each(struct operation, op, &s->queue, node) {
        if (op != s->current && op != session_first_operation(s) && is_limited(op) &&
            waited_ms(s, op) >= (uint64_t)op->asked.timeout_ms)
            return op;
    }
    return NULL;
}

static void on_tick(uv_timer_t *timer)
{
    struct session *s = timer->data;
    bool is_needed = false;
    for (struct operation *op; (op = first_expired(s)) != NULL;)
        expire(s, op);
    list_each(struct operation, op, &s->queue, node) {
        is_needed = is_needed || op->asked.on_progress != NULL || is_limited(op);
        if (op->asked.on_progress == NULL)
            continue;
        if (op == s->current)
            tell_running(s, op);
        else
            tell_waiting(s, op);
    }
    if (!is_needed)
        uv_timer_stop(timer);
}

void queue_add(struct session *s, struct operation *op)
{
    op->submitted_ms = uv_now(s->host->options.loop);
    operation_weigh(op, &s->all->operation_bytes);
    if (op->asked.keeps_record)
        op->number = next_number(s);
    if (!list_is_empty(&s->queue))
        operation_add_name(session_first_operation(s), &op->behind);
    uint64_t tick_ms = (uint64_t)s->host->waits.progress_ms;
    if ((op->asked.on_progress != NULL || is_limited(op)) && !uv_is_active((uv_handle_t *)s->clock.ticker))
        uv_timer_start(s->clock.ticker, on_tick, tick_ms, tick_ms);
    list_append(&s->queue, &op->node);
    s->clock.uses++;
    session_count(s, METRIC_OPERATIONS);
}

struct operation *queue_find(const struct session *s, uint64_t number)
{
    list_each(struct operation, op, &s->queue, node)
        if (op->number == number && number > 0)
            return op;
    return NULL;
}

void queue_cancel(struct session *s, struct operation *op)
{
    answer_unbegun(s, op, "CANCELLED", session_sentence(s, FACT_CANCELLED_UNBEGUN));
}

bool queue_cancel_first(struct session *s, struct strbuf *what)
{
    struct operation *op = session_first_operation(s);
    if (op == NULL || op->kind == OPERATION_RESET || op->kind == OPERATION_RESTORE)
        return false;
    strbuf_add(what, op->what.bytes, op->what.len);
    if (op->what.len == 0)
        strbuf_adds(what, op->kind == OPERATION_ROLLBACK ? "a roll-back"
                          : op->kind == OPERATION_SAVE   ? "a save"
                                                         : "a checkpoint");
    queue_cancel(s, op);
    return true;
}

static void run(struct session *s, struct operation *op)
{
    run_take_up(s, op);
    if (op->asked.keeps_record)
        snapshots_leave_after(&s->snapshots, s->at);
    run_send(s);
}

static void save(struct session *s, struct operation *op)
{
    if (saving_start(s, op))
        copies_await(s, COPY_MS, STEP_rest);
}

static void reset(struct session *s, struct operation *op)
{
    rollback_clear(s);
    notices_clear(&s->told.notices); /* about the discarded process */
    answer_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK});
    if (s->state == SESSION_ABSENT && session_first_operation(s) == NULL)
        becoming_fresh(s); /* so that the next call finds it ready */
}

typedef void perform(struct session *s, struct operation *op);

static perform *const performs[] = {
    [OPERATION_RUN] = run,
    [OPERATION_VISIT] = scratch_begin,
    [OPERATION_CONTINUE] = scratch_begin,
    [OPERATION_RESET] = reset,
    [OPERATION_CHECKPOINT] = checkpointing_perform,
    [OPERATION_ROLLBACK] = rollback_perform,
    [OPERATION_SAVE] = save,
    [OPERATION_RESTORE] = rollback_restore,
    [OPERATION_BRANCH] = branch_perform,
};

static bool needs_process(const struct operation *op)
{
    return op->kind != OPERATION_RESET && op->kind != OPERATION_RESTORE;
}

/* Operations that a callback submits wait until the code that delivers has brought the session to rest. */
static struct operation *next(const struct session *s)
{
    return s->flags.is_delivering ? NULL : session_first_operation(s);
}

/* Performing an operation may leave the state; the event that ends the new state leads here again. */
static void proceed(struct session *s, enum session_state state)
{
    struct operation *op;
    while (s->state == state && (op = next(s)) != NULL && (s->worker != NULL || !needs_process(op)) &&
           (!needs_process(op) || worker_is_alive(s->worker)))
        if (!joined_refuse(s, op))
            performs[op->kind](s, op);
}

void session_action_begin(struct session *s, struct event *e)
{
    proceed(s, SESSION_IDLE);
    if (s->state == SESSION_ABSENT && next(s) != NULL)
        session_look_at_queue(s);
}

void session_action_start(struct session *s, struct event *e)
{
    proceed(s, SESSION_ABSENT);
    if (s->state == SESSION_ABSENT && next(s) != NULL)
        becoming_fresh(s);
}

void session_action_resume(struct session *s, struct event *e)
{
    struct operation *op;
    while (s->state == SESSION_SUSPENDED && (op = next(s)) != NULL) {
        if (!needs_process(op))
            performs[op->kind](s, op);
        else if (op->kind != OPERATION_SAVE || !saving_start_suspended(s, op))
            break;
    }
    if (s->state == SESSION_SUSPENDED && next(s) != NULL)
        suspension_resume(s);
    else if (s->state != SESSION_SUSPENDED)
        session_look_at_queue(s);
}

/* An operation that cannot run inside the standing error ends it. */
void session_action_serve(struct session *s, struct event *e)
{
    struct operation *op = next(s);
    if (op == NULL || !worker_is_alive(s->worker))
        return;
    if (standing_accepts(s, op))
        standing_enter(s, op);
    else if (op->kind == OPERATION_VISIT)
        scratch_begin(s, op);
    else
        session_action_end_standing(s, e);
}
