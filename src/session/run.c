/*
 * Responsible for sending an operation, for its progress, and for stopping it.
 */
#include "session/run.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "proc/loop_handle.h"
#include "session/error_record.h"
#include "session/session_core.h"
#include "session/wording.h"

#define AT_ONCE_NS 2000000 /* since the last answer */
#define FREEZE_MS 30000    /* for copying the process */
#define LONGEST_PROGRESS 400

enum stop_reason { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL };

struct run {
    struct session *session;
    uint64_t started_at; /* loop time in ms when it was sent; later by what does not count */
    uint64_t paused_at;  /* ASKING */
    int timeout_ms;
    uint64_t answered_at_ns; /* loop time when the last one was answered */
    bool is_asked_at_once;
    enum stop_reason stop;
    int interrupts;
    struct strbuf progress; /* the agent's last message */
    uv_timer_t *ticker;
};

struct run *run_new(struct session *s)
{
    struct run *run = xcalloc(1, sizeof *run);
    run->session = s;
    strbuf_init(&run->progress, 500);
    run->ticker = loop_handle_timer(s->host->loop, run);
    return run;
}

void run_free(struct run *run)
{
    loop_handle_free(run->ticker);
    strbuf_fini(&run->progress);
    free(run);
}

static uint64_t now_ms(const struct session *s)
{
    return uv_now(s->host->loop);
}

/* How long it has run: the time that it has waited for its caller does not count. */
static uint64_t elapsed_ms(const struct session *s)
{
    return (s->state == SESSION_ASKING ? s->run->paused_at : now_ms(s)) - s->run->started_at;
}

double run_elapsed_s(const struct session *s)
{
    return (double)elapsed_ms(s) / 1000.0;
}

/* Returns 0 for no limit. */
static int deadline_ms(const struct run *run)
{
    return run->timeout_ms < 0 ? 0 : run->timeout_ms;
}

uint64_t run_progress(const struct session *s, struct strbuf *line)
{
    if (s->run->progress.len == 0)
        return session_output_progress(&s->output, line, s->host->redacts);
    strbuf_add(line, s->run->progress.bytes, s->run->progress.len);
    return session_output_printed(&s->output);
}

static void tell_running(struct session *s, struct operation *op)
{
    struct strbuf line;
    strbuf_init(&line, 0);
    uint64_t printed = run_progress(s, &line);
    op->on_progress(op->arg, run_elapsed_s(s), printed, strbuf_string(&line));
    strbuf_fini(&line);
}

void run_add_behind(const struct session *s, const struct operation *op, struct strbuf *out)
{
    const struct operation *first = session_first_operation(s);
    if (first == NULL || first == op)
        return;
    strbuf_adds(out, "behind ");
    operation_add_name(first, out);
    if (first == s->current)
        strbuf_addf(out, " (running for %.0f s)", run_elapsed_s(s));
    size_t between = 0;
    for (const struct list *node = first->node.next; node != &op->node && node != &s->queue;
         node = node->next)
        between++;
    if (between > 0) {
        strbuf_adds(out, " and ");
        text_add_count(out, between, "other call");
    }
    strbuf_adds(out, "; cancel-evaluation stops that, and other sessions are free");
}

/* Tell an operation that waits what it waits behind. */
static void tell_waiting(struct session *s, struct operation *op)
{
    uint64_t waited_ms = now_ms(s) - op->submitted_ms;
    struct strbuf line;
    if (op->behind.len == 0 || op == session_first_operation(s) ||
        waited_ms < (uint64_t)s->host->waits.patience_ms)
        return;
    strbuf_init(&line, 0);
    strbuf_adds(&line, "waiting; ");
    run_add_behind(s, op, &line);
    op->on_progress(op->arg, (double)waited_ms / 1000.0, 0, strbuf_string(&line));
    strbuf_fini(&line);
}

double run_limit_s(const struct session *s)
{
    return (double)deadline_ms(s->run) / 1000.0;
}

static void on_tick(uv_timer_t *timer)
{
    struct run *run = timer->data;
    struct session *s = run->session;
    struct list *node, *next;
    bool is_heard = false;
    list_for_each(node, next, &s->queue)
    {
        struct operation *op = list_entry(node, struct operation, node);
        if (op->on_progress == NULL)
            continue;
        is_heard = true;
        if (op == s->current)
            tell_running(s, op);
        else
            tell_waiting(s, op);
    }
    if (!is_heard)
        uv_timer_stop(timer);
}

void run_listen(struct session *s)
{
    uint64_t tick_ms = (uint64_t)s->host->waits.progress_ms;
    if (!uv_is_active((uv_handle_t *)s->run->ticker))
        uv_timer_start(s->run->ticker, on_tick, tick_ms, tick_ms);
}

void run_note_progress(struct session *s, const char *message, size_t len)
{
    if (s->current == NULL)
        return;
    strbuf_clear(&s->run->progress);
    strbuf_add(&s->run->progress, message, len < LONGEST_PROGRESS ? len : LONGEST_PROGRESS);
}

/* Its turn has come. If that took long, its reply reports the wait. */
static void note_waited(struct session *s, const struct operation *op)
{
    uint64_t waited_ms = uv_now(s->host->loop) - op->submitted_ms;
    if (op->keeps_record && op->behind.len > 0 && waited_ms >= (uint64_t)s->host->waits.patience_ms)
        strbuf_addf(&s->notice, "This evaluation waited %.0f s for its turn, behind %s\n",
                    (double)waited_ms / 1000.0, strbuf_string(&op->behind));
}

void run_take_up(struct session *s, struct operation *op)
{
    struct run *run = s->run;
    s->current = op;
    if (op->number > 0 && op->number <= s->evaluations)
        op->number = s->evaluations + 1; /* the journal was replaced meanwhile */
    run->stop = STOP_NONE;
    run->interrupts = 0;
    run->started_at = now_ms(s);
    if (op->package == NULL)
        op->package = xstrdup(session_core_package(s));
    strbuf_clear(&run->progress);
    note_waited(s, op);
}

void run_put_back(struct session *s)
{
    s->current = NULL;
}

void run_end(struct session *s)
{
    run_put_back(s);
    s->run->answered_at_ns = uv_hrtime();
}

static struct worker *runner(const struct session *s)
{
    return s->scratch != NULL ? s->scratch : s->worker;
}

bool run_is_asked_at_once(const struct session *s)
{
    return s->run->is_asked_at_once;
}

void run_send(struct session *s)
{
    struct run *run = s->run;
    struct operation *op = s->current;
    run->is_asked_at_once = uv_hrtime() - run->answered_at_ns < AT_ONCE_NS;
    run->started_at = now_ms(s);
    run->timeout_ms = op->timeout_ms == 0 || (op->timeout_ms < 0 && s->host->is_everything_limited)
                          ? limits_timeout_ms(&s->limits)
                          : op->timeout_ms;
    /* Sent behind a request for a copy, it begins when that is answered; so does its time. */
    bool is_behind = worker_state(runner(s)) == WORKER_BUSY;
    if (is_behind)
        session_enter_state(s, SESSION_RUNNING, FREEZE_MS);
    else
        session_enter_state(s, SESSION_RUNNING, deadline_ms(run));
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_add(&request, op->request.bytes, op->request.len);
    if (op->has_code) {
        /* The agent labels the definitions of this evaluation with its number in the journal. */
        sexp_write_symbol(&request, "evaluation");
        sexp_write_integer(&request, (int64_t)(op->number > 0 ? op->number : s->evaluations + 1));
        if (limits_int(&s->limits, LIMIT_THREAD_ERRORS) > 0) {
            sexp_write_symbol(&request, "thread-errors");
            sexp_write_integer(&request, limits_int(&s->limits, LIMIT_THREAD_ERRORS));
        }
    }
    worker_call(runner(s), &request, NULL, 0);
    strbuf_fini(&request);
    if (s->queue.next != s->queue.previous)
        session_not_before(s, op->is_let_go ? 0 : RUN_ALONE_MS); /* look-ups may wait behind it */
    if (op->is_to_stop)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

/* 0: no limit. */
static int time_left_ms(const struct session *s)
{
    uint64_t spent_ms = elapsed_ms(s);
    int limit_ms = deadline_ms(s->run);
    if (limit_ms > 0)
        limit_ms = spent_ms < (uint64_t)limit_ms ? limit_ms - (int)spent_ms : 1;
    return limit_ms;
}

void run_go_on(struct session *s)
{
    session_enter_state(s, SESSION_RUNNING, time_left_ms(s));
}

void run_pause(struct session *s)
{
    s->run->paused_at = now_ms(s);
}

static void end_pause(struct session *s)
{
    if (s->state == SESSION_ASKING)
        s->run->started_at += now_ms(s) - s->run->paused_at;
}

void run_resume(struct session *s)
{
    int limit_ms = time_left_ms(s);
    end_pause(s);
    session_enter_state(s, SESSION_RUNNING, limit_ms);
}

void run_limit(struct session *s)
{
    if (s->current == NULL || s->run->timeout_ms >= 0)
        return;
    s->run->timeout_ms = limits_timeout_ms(&s->limits);
    if (s->state == SESSION_RUNNING && worker_has_begun(runner(s)))
        run_go_on(s); /* otherwise its time starts when it does */
}

void run_restart_clock(struct session *s)
{
    s->run->started_at = now_ms(s);
    if (s->state == SESSION_RUNNING)
        session_enter_state(s, SESSION_RUNNING, deadline_ms(s->run));
    else
        session_enter_state(s, s->state, s->host->waits.step_ms);
}

bool run_is_stopped(const struct session *s)
{
    return s->run->stop != STOP_NONE;
}

void run_word_stop(struct session *s, struct error_record *r, bool was_killed)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    struct stop_facts facts = {
        .is_limit = s->run->stop == STOP_TIMEOUT,
        .limit_ms = s->run->timeout_ms,
        .ran_ms = (int)elapsed_ms(s),
        .interrupts = s->run->interrupts,
        .was_killed = was_killed,
        .is_look_up = s->current != NULL && !s->current->keeps_record,
        .can_continue = r->frozen != NULL || r->stands_here || r->standing > 0,
    };
    s->host->wording->stop(&facts, &text);
    free(r->type);
    free(r->message);
    r->type = xstrdup(facts.is_limit ? "TIMEOUT" : "CANCELLED");
    r->message = strbuf_steal(&text, NULL);
}

void session_action_interrupt(struct session *s, struct event *e)
{
    bool has_begun = worker_has_begun(runner(s));
    if (!has_begun && e->kind == EVENT_DEADLINE) {
        session_action_kill(s, e); /* the process does not answer the earlier request for a copy */
        return;
    }
    end_pause(s);
    s->run->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    s->run->interrupts = 1;
    session_enter_state(s, SESSION_INTERRUPTING, has_begun ? s->host->waits.step_ms : FREEZE_MS);
    worker_interrupt(runner(s)); /* an operation that has not begun is stopped when it begins */
}

void session_action_insist(struct session *s, struct event *e)
{
    (void)e;
    s->run->interrupts = 2;
    session_enter_state(s, SESSION_INSISTING, s->host->waits.step_ms);
    worker_interrupt(runner(s));
}

void session_action_kill(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    session_enter_state(s, SESSION_KILLING, 0);
    /* If the pid was not known yet, EVENT_GONE may have been handled before this returns. */
    worker_kill(runner(s));
}

void session_action_hurry(struct session *s, struct event *e)
{
    (void)e;
    session_enter_state(s, SESSION_HURRYING, s->host->waits.step_ms);
    worker_interrupt(s->worker);
}

void session_action_force(struct session *s, struct event *e)
{
    (void)e;
    s->run->interrupts = 2;
    session_enter_state(s, SESSION_FORCING, s->host->waits.step_ms);
    worker_interrupt(s->worker);
}
