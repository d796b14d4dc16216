/*
 * Responsible for starting operations one after the other, each in the way of its kind.
 */
#include "session/life/queue.h"

#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/errors/scratch.h"
#include "session/errors/standing.h"
#include "session/life/becoming.h"
#include "session/life/rollback.h"
#include "session/life/saving.h"
#include "session/life/suspension.h"
#include "session/process/process.h"
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

void queue_add(struct session *s, struct operation *op)
{
    op->submitted_ms = uv_now(s->host->loop);
    operation_weigh(op, &s->all->operation_bytes);
    if (op->keeps_record)
        op->number = next_number(s);
    if (!list_is_empty(&s->queue))
        operation_add_name(session_first_operation(s), &op->behind);
    if (op->on_progress != NULL)
        run_listen(s);
    list_append(&s->queue, &op->node);
    s->uses++;
    session_count(s, METRIC_OPERATIONS);
}

size_t queue_length(const struct session *s)
{
    size_t n = 0;
    for (const struct list *node = s->queue.next; node != &s->queue; node = node->next)
        n++;
    return n;
}

struct operation *queue_find(const struct session *s, uint64_t number)
{
    struct list *node, *next;
    list_for_each(node, next, &s->queue)
    {
        struct operation *op = list_entry(node, struct operation, node);
        if (op->number == number && number > 0)
            return op;
    }
    return NULL;
}

void queue_cancel(struct session *s, struct operation *op)
{
    struct error_record *r =
        error_record_make("CANCELLED", "The evaluation was cancelled before it began.", NULL);
    r->session = s;
    answer_error(s, op, r);
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
    if (op->keeps_record)
        snapshots_leave_after(&s->snapshots, s->at);
    run_send(s);
}

static void then_rest(struct session *s, const struct sexp_document *answer)
{
    session_enter_state(s, SESSION_IDLE, 0);
    session_look_at_queue(s);
}

static void save(struct session *s, struct operation *op)
{
    if (saving_start(s, op))
        copies_await(s, COPY_MS, then_rest);
}

static void reset(struct session *s, struct operation *op)
{
    rollback_clear(s);
    strbuf_clear(&s->told.notice); /* about the discarded process */
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
        performs[op->kind](s, op);
}

void session_action_begin(struct session *s, struct event *e)
{
    (void)e;
    proceed(s, SESSION_IDLE);
    if (s->state == SESSION_ABSENT && next(s) != NULL)
        session_look_at_queue(s);
}

void session_action_start(struct session *s, struct event *e)
{
    (void)e;
    proceed(s, SESSION_ABSENT);
    if (s->state == SESSION_ABSENT && next(s) != NULL)
        becoming_fresh(s);
}

void session_action_resume(struct session *s, struct event *e)
{
    (void)e;
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
    (void)e;
    struct operation *op = next(s);
    if (op == NULL || !worker_is_alive(s->worker))
        return;
    if (standing_accepts(s, op))
        standing_enter(s, op);
    else if (op->kind == OPERATION_VISIT)
        scratch_begin(s, op);
    else
        standing_end(s);
}
