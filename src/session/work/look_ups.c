/*
 * Responsible for look-ups beside the operation that runs. They are not states of the session: the operation
 * is unaffected by their outcome.
 */
#include "session/work/look_ups.h"

#include <stdlib.h>

#include "base/memory.h"
#include "proc/loop_handle.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/records/error_record.h"
#include "session/work/answer.h"
#include "session/work/run.h"

#define LOOK_MS 15000  /* for a look-up that was given no limit */
#define ENDING_MS 1000 /* for a copy that has answered, to end */
#define MOST_LOOKS 4   /* of a session at the same time */

static void drop(struct look *look)
{
    list_remove(&look->node);
    worker_free(look->worker);
    loop_handle_free(look->timer);
    free(look->moment);
    free(look->refusal);
    free(look);
}

/* Answers the look-up's operation; then those submitted meanwhile get their turn. */
static void answer(struct look *look, struct outcome *outcome)
{
    struct operation *op = look->op;
    struct session *s = look->session;
    look->op = NULL;
    if (op == NULL)
        return;
    op->look = NULL;
    outcome->moment = look->moment;
    outcome->was_in_copy = look->worker != NULL && worker_pid(look->worker) > 0;
    answer_deliver(s, op, outcome);
    session_later(s);
}

static void answer_why(struct look *look, enum fact_kind why)
{
    answer(look, &(struct outcome){.kind = OUTCOME_UNAVAILABLE,
                                   .why = look->refusal != NULL ? look->refusal
                                                                : session_sentence(look->session, why)});
}

/* A thread of the process that works on it is asked to end; a copy ends with its worker. */
static void give_up(struct look *look)
{
    if (look->session->worker != NULL && look->worker != NULL)
        worker_end_look(look->session->worker, look->worker);
    drop(look);
}

static void on_time_over(uv_timer_t *timer)
{
    struct look *look = timer->data;
    if (look->has_reacted) {
        answer_why(look, FACT_LOOK_LATE);
        give_up(look);
    } else {
        /* The process may still read the request: until then it gets no other. */
        look->is_overdue = true;
        answer_why(look, FACT_LOOK_UNANSWERED);
        session_later(look->session); /* its client may have gone, and others wait */
    }
}

static uint64_t limit_ms(const struct operation *op)
{
    return op->asked.timeout_ms > 0 ? (uint64_t)op->asked.timeout_ms : LOOK_MS;
}

static void on_ready(void *arg, const struct sexp *hello)
{
    struct look *look = arg;
    look->has_reacted = true;
    session_later(look->session); /* the next one can be sent */
    if (look->op == NULL)
        drop(look); /* its answer comes too late */
    else
        uv_timer_start(look->timer, on_time_over, limit_ms(look->op), 0);
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    struct look *look = arg;
    look->has_reacted = true;
    uv_timer_start(look->timer, on_time_over, ENDING_MS, 0);
    if (session_is_reply(reply, "error")) {
        struct error_record *r = error_record_new(reply);
        r->session = look->session;
        answer(look, &(struct outcome){.kind = OUTCOME_ERROR, .error = r});
        error_record_free(r);
        return;
    }
    answer(look, &(struct outcome){.kind = session_is_reply(reply, "ok") ? OUTCOME_OK : OUTCOME_REFUSED,
                                   .reply = sexp_root(reply)});
    sexp_document_free(reply);
}

/* The process ended before it could answer: the operation waits for the next process. */
static void put_back(struct look *look)
{
    struct operation *op = look->op;
    look->op = NULL;
    op->look = NULL;
    op->asked.is_look_up = false;
    list_append(&look->session->queue, &op->node);
    session_later(look->session);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct look *look = arg;
    if (look->op != NULL && !look->has_reacted)
        put_back(look);
    answer_why(look, FACT_LOOK_LOST);
    session_later(look->session);
    drop(look);
}

static void make_moment(struct look *look)
{
    struct strbuf name = {0};
    const struct operation *runs = look->session->current;
    operation_add_name(runs, &name);
    look->moment =
        session_words(look->session, FACT(runs->number > 0 ? FACT_MOMENT_IN_EVALUATION : FACT_MOMENT,
                                          .texts = {strbuf_string(&name)}, .numbers = {runs->number},
                                          .seconds = run_elapsed_s(look->session)));
    strbuf_fini(&name);
}

static struct look *new_look(struct session *s, struct operation *op)
{
    struct look *look = xcalloc(1, sizeof *look);
    look->session = s;
    look->op = op;
    op->look = look;
    list_remove(&op->node);
    list_append(&s->looks, &look->node);
    look->timer = loop_handle_timer(s->host->options.loop, look);
    make_moment(look);
    return look;
}

/* One that cannot be sent, or because of ${refusal} is not to be, is answered from the loop, not inside the
 * caller's call. */
static void begin(struct session *s, struct operation *op, const char *refusal)
{
    struct err err;
    struct look *look = new_look(s, op);
    struct worker_events events = {
        .on_ready = on_ready, .on_reply = on_reply, .on_gone = on_gone, .arg = look};
    if (refusal == NULL)
        do
            look->worker = worker_look(s->worker, &op->request, &events, &err);
        while (look->worker == NULL && err.code == ERR_LIMIT && eviction_for_copy(s));
    look->has_reacted = look->worker == NULL;
    if (look->has_reacted)
        look->refusal = xstrdup(refusal != NULL ? refusal : err.message);
    uv_timer_start(look->timer, on_time_over, look->has_reacted ? 0 : (uint64_t)s->host->waits.patience_ms,
                   0);
}

/* A request that the process has not read yet; NULL if there is none. */
static struct look *unread(const struct session *s)
{
    list_each(struct look, look, &s->looks, node)
        if (!look->has_reacted)
            return look;
    return NULL;
}

static bool is_to_look(const struct session *s, const struct operation *op)
{
    return op != s->current && (op->asked.is_look_up || (op->kind == OPERATION_VISIT && op->sequence == 0));
}

/* Calls that a client sends together are done in order: a look-up waits until the operation has ended or has
 * run for a while. One whose caller was answered early, or is being asked, is no longer awaited. */
static bool is_too_early(const struct session *s)
{
    bool is_awaited = !s->current->is_let_go && s->state != SESSION_ASKING;
    return is_awaited && run_elapsed_s(s) * 1000 < RUN_ALONE_MS;
}

void session_action_look(struct session *s, struct event *e)
{
    if (s->flags.is_delivering || !worker_is_alive(s->worker) || run_is_stopped(s))
        return;
    list_each(struct operation, op, &s->queue, node) {
        if (!is_to_look(s, op))
            continue;
        if (is_too_early(s)) {
            session_not_before(s, RUN_ALONE_MS);
            return;
        }
        const struct look *ahead = unread(s);
        if (ahead != NULL && ahead->is_overdue)
            begin(s, op, session_sentence(s, FACT_LOOK_UNANSWERED));
        else if (ahead == NULL && list_count(&s->looks) < MOST_LOOKS)
            begin(s, op, NULL);
    }
}

void look_cancel(struct look *look)
{
    look->op = NULL;
    if (look->has_reacted)
        give_up(look);
}

void looks_cancel(struct session *s)
{
    list_each(struct look, look, &s->looks, node) {
        struct operation *op = look->op;
        look->op = NULL;
        if (op != NULL) {
            op->look = NULL;
            answer_unavailable(s, op, session_sentence(s, FACT_CLOSED));
        }
        drop(look);
    }
}
