/*
 * Responsible for sending an operation, for its progress, for its questions and for stopping it. A line of
 * input that it waits for is asked of its caller; the caller's own way to a person is not known here.
 */
#include "session/work/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/core/wording.h"
#include "session/records/error_record.h"

#define LONGEST_PROGRESS 400
/* Of one operation. The agent asks less; more are forged by the user's code and not answered. */
#define MOST_QUESTIONS 200

static uint64_t now_ms(const struct session *s)
{
    return uv_now(s->host->options.loop);
}

/* How long it has run: the time that it has waited for its caller does not count. */
static uint64_t elapsed_ms(const struct session *s)
{
    return (s->state == SESSION_ASKING ? s->run.paused_at : now_ms(s)) - s->run.started_at;
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
    if (s->run.progress.len == 0)
        return session_output_progress(&s->output, line, s->host->options.redacts);
    strbuf_add(line, s->run.progress.bytes, s->run.progress.len);
    return session_output_printed(&s->output);
}

double run_limit_s(const struct session *s)
{
    return (double)deadline_ms(&s->run) / 1000.0;
}

void run_note_progress(struct session *s, const char *message, size_t len)
{
    if (s->current == NULL)
        return;
    strbuf_clear(&s->run.progress);
    strbuf_add(&s->run.progress, message, len < LONGEST_PROGRESS ? len : LONGEST_PROGRESS);
    session_tell_event(s, &(struct sessions_event){.kind = SESSIONS_EVENT_NOTED,
                                                   .operation = s->current,
                                                   .text = strbuf_string(&s->run.progress)});
}

/* Its turn has come. If that took long, its reply reports the wait. */
static void note_waited(struct session *s, const struct operation *op)
{
    uint64_t waited_ms = uv_now(s->host->options.loop) - op->submitted_ms;
    if (op->asked.keeps_record && op->behind.len > 0 && waited_ms >= (uint64_t)s->host->waits.patience_ms)
        session_notify(s, FACT(FACT_WAITED, .texts = {strbuf_string(&op->behind)},
                               .seconds = (double)waited_ms / 1000.0));
}

void run_take_up(struct session *s, struct operation *op)
{
    struct run *run = &s->run;
    s->current = op;
    if (op->number > 0 && op->number <= s->numbers.evaluations)
        op->number = s->numbers.evaluations + 1; /* the journal was replaced meanwhile */
    run->stop = STOP_NONE;
    run->interrupts = 0;
    run->started_at = now_ms(s);
    if (op->package == NULL)
        op->package = xstrdup(session_core_package(s));
    strbuf_clear(&run->progress);
    note_waited(s, op);
}

static struct worker *runner(const struct session *s)
{
    return s->scratch != NULL ? s->scratch : s->worker;
}

void run_send(struct session *s)
{
    struct run *run = &s->run;
    struct operation *op = s->current;
    run->started_at = now_ms(s);
    run->timeout_ms =
        op->asked.timeout_ms == 0 || (op->asked.timeout_ms < 0 && s->host->is_everything_limited)
            ? limits_timeout_ms(&s->limits)
            : op->asked.timeout_ms;
    session_enter_state(s, SESSION_RUNNING, deadline_ms(run));
    if (op->has_code) {
        /* The agent labels the definitions of this evaluation with its number in the journal. */
        uint64_t number = op->number > 0 ? op->number : s->numbers.evaluations + 1;
        strbuf_addf(&op->request, " :evaluation %llu", (unsigned long long)number);
        if (limits_int(&s->limits, LIMIT_THREAD_ERRORS) > 0)
            strbuf_addf(&op->request, " :thread-errors %d", limits_int(&s->limits, LIMIT_THREAD_ERRORS));
        if (s->place.joined.address != NULL && limits_int(&s->limits, LIMIT_MAX_MEMORY) > 0)
            strbuf_addf(&op->request, " :max-memory %d", limits_int(&s->limits, LIMIT_MAX_MEMORY));
    }
    if (s->place.joined.address != NULL && op->asked.author.name[0] != '\0') {
        sexp_write_symbol(&op->request, "by");
        sexp_write_string(&op->request, op->asked.author.name, strlen(op->asked.author.name));
    }
    session_tell_event(s, &(struct sessions_event){.kind = SESSIONS_EVENT_BEGAN, .operation = op});
    worker_call(runner(s), &op->request, NULL, 0);
    if (s->queue.next != s->queue.previous)
        session_not_before(s, op->is_let_go ? 0 : RUN_ALONE_MS); /* look-ups may wait behind it */
    if (op->is_to_stop)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

void session_step_send(struct session *s)
{
    run_send(s);
}

/* 0: no limit. */
static int time_left_ms(const struct session *s)
{
    uint64_t spent_ms = elapsed_ms(s);
    int limit_ms = deadline_ms(&s->run);
    if (limit_ms > 0)
        limit_ms = spent_ms < (uint64_t)limit_ms ? limit_ms - (int)spent_ms : 1;
    return limit_ms;
}

void run_go_on(struct session *s)
{
    session_enter_state(s, SESSION_RUNNING, time_left_ms(s));
}

static void end_pause(struct session *s)
{
    if (s->state == SESSION_ASKING)
        s->run.started_at += now_ms(s) - s->run.paused_at;
}

void session_action_ask(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (op == NULL || op->asked.on_question == NULL || op->questions == MOST_QUESTIONS || run_is_stopped(s))
        return;
    op->questions++;
    s->current->question = e->question;
    s->run.paused_at = now_ms(s);
    session_enter_state(s, SESSION_ASKING, s->host->waits.asking_ms);
    struct strbuf prompt = {0};
    session_output_progress(&s->output, &prompt, s->host->options.redacts);
    op->asked.on_question(op->asked.arg, s->current->question, strbuf_string(&prompt));
    strbuf_fini(&prompt);
}

static void give(struct session *s, const char *text, size_t len)
{
    worker_give_input(runner(s), s->current->question, text, len);
    int limit_ms = time_left_ms(s);
    end_pause(s);
    session_enter_state(s, SESSION_RUNNING, limit_ms);
}

void session_action_decline(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    give(s, NULL, 0);
    session_notify(s, FACT(FACT_NO_INPUT));
    if (op != NULL && op->asked.on_question != NULL)
        op->asked.on_question(op->asked.arg, s->current->question, NULL);
}

void session_action_give_answer(struct session *s, struct event *e)
{
    give(s, e->text, e->text_len);
}

void run_limit(struct session *s)
{
    if (s->current == NULL || s->run.timeout_ms >= 0)
        return;
    s->run.timeout_ms = limits_timeout_ms(&s->limits);
    if (s->state == SESSION_RUNNING && s->run.interrupts == 0)
        run_go_on(s);
}

bool run_is_stopped(const struct session *s)
{
    return s->run.stop != STOP_NONE;
}

void run_note_stop(struct session *s, struct error_record *r)
{
    if (!run_is_stopped(s))
        return;
    struct strbuf text = {0};
    struct stop_facts facts = {
        .is_limit = s->run.stop == STOP_TIMEOUT,
        .limit_ms = s->run.timeout_ms,
        .ran_ms = (int)elapsed_ms(s),
        .interrupts = s->run.interrupts,
        .was_killed = s->state == SESSION_KILLING,
        .is_joined = s->place.joined.address != NULL,
        .still_running = sexp_string(sexp_get(r->condition, 2, "still-running"), NULL),
        .is_look_up = s->current != NULL && !s->current->asked.keeps_record,
        .can_continue = r->snapshot != NULL || r->stands_here || r->standing > 0,
    };
    s->host->options.wording->stop(&facts, &text);
    free(r->type);
    free(r->message);
    r->type = xstrdup(facts.is_limit ? "TIMEOUT" : "CANCELLED");
    r->message = strbuf_steal(&text, NULL);
}

void run_begin_work(struct session *s, enum session_state state, int deadline_ms)
{
    s->run.interrupts = 0;
    session_enter_state(s, state, deadline_ms);
}

bool run_is_pressed(const struct session *s)
{
    bool can_be =
        s->state == SESSION_RUNNING || s->state == SESSION_EXAMINING || s->state == SESSION_UNWINDING;
    return can_be && s->run.interrupts > 0;
}

void run_kill(struct session *s)
{
    session_enter_state(s, SESSION_KILLING, 0);
    /* If the pid was not known yet, EVENT_GONE may have been handled before this returns. */
    worker_kill(runner(s));
}

/* An operation is interrupted a second time if it does not stop: the first interrupt makes the Lisp report
 * where it was and wait there, the second unwinds at once. An image that was joined gets a third one, after
 * which it leaves the operation alone. Other work is interrupted once. */
void session_action_press(struct session *s, struct event *e)
{
    struct run *run = &s->run;
    bool is_operation = s->state == SESSION_RUNNING || s->state == SESSION_ASKING;
    int most = !is_operation ? 1 : s->place.joined.address == NULL ? 2 : 3;
    if (e->kind == EVENT_CANCEL && run->interrupts > 0)
        return;
    if (run->interrupts == most) {
        run_kill(s);
        return;
    }
    if (is_operation && run->interrupts == 0) {
        end_pause(s);
        run->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    }
    run->interrupts++;
    session_enter_state(s, s->state == SESSION_ASKING ? SESSION_RUNNING : s->state, s->host->waits.step_ms);
    worker_interrupt(runner(s));
}
