/*
 * The life of a session: operations are taken up, sent to its process, and end. What happens when is in
 * session_states.c; here and in the files beside it (session_internal.h) is what each action does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "session/session_internal.h"

#define LONGEST_PROGRESS 200
#define AT_ONCE_NS 2000000 /* after the last answer */

/*
 * Where the agent does what we have asked of it, and is given little time for it. The limits of what the user
 * asked for count on the clock, as the user meant them.
 */
static bool counts_processor_time(enum session_state state, int deadline_ms)
{
    bool is_copying = state == SESSION_FREEZING || state == SESSION_CHECKPOINTING;
    return (is_copying && deadline_ms < FREEZE_MS) || state == SESSION_STARTING ||
           state == SESSION_CHECKING || state == SESSION_REPLAYING || state == SESSION_ABORTING ||
           state == SESSION_FORCING;
}

/* Whose turn it is; while a checkpoint has not made its copy, the checkpoint's. */
static pid_t process_waited_for(const struct session *s)
{
    pid_t pid = s->worker == NULL ? 0 : worker_pid(s->worker);
    return pid == 0 && s->source != NULL ? worker_pid(s->source->worker) : pid;
}

static void on_deadline(uv_timer_t *timer)
{
    struct session *s = timer->data;
    int more_ms = cpu_grace_more_ms(&s->grace, process_waited_for(s));
    if (more_ms > 0)
        uv_timer_start(timer, on_deadline, (uint64_t)more_ms, 0);
    else
        session_dispatch(s, &(struct event){.kind = EVENT_DEADLINE});
}

void session_set_deadline(struct session *s, int deadline_ms)
{
    cpu_grace_begin(&s->grace, counts_processor_time(s->state, deadline_ms) ? deadline_ms : 0,
                    process_waited_for(s));
    uv_timer_start(s->timer, on_deadline, (uint64_t)deadline_ms, 0);
}

void session_enter_state(struct session *s, enum session_state state, int deadline_ms)
{
    log_debug("session %s: %s -> %s", s->name, session_state_text(s->state), session_state_text(state));
    s->host->asleep += state == SESSION_ASLEEP;
    s->host->asleep -= s->state == SESSION_ASLEEP;
    s->state = state;
    if (state == SESSION_IDLE) {
        deadline_ms = session_idle_deadline_ms(s);
        session_note_idle(s);
    } else if (state != SESSION_CHECKPOINTING) {
        session_note_activity(s);
    }
    if (deadline_ms > 0)
        session_set_deadline(s, deadline_ms);
    else
        uv_timer_stop(s->timer);
}

void session_remember_package(struct session *s, const struct sexp *reply)
{
    size_t len;
    const char *package = sexp_string(sexp_get(reply, 2, "package"), &len);
    if (package != NULL && (s->package == NULL || strcmp(package, s->package) != 0)) {
        free(s->package);
        s->package = xmemdup0(package, len);
    }
}

void session_write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome)
{
    static const enum metric metrics[] = {
        [JOURNAL_OK] = METRIC_EVALUATIONS_OK,
        [JOURNAL_ERROR] = METRIC_EVALUATIONS_ERROR,
        [JOURNAL_STOPPED] = METRIC_EVALUATIONS_STOPPED,
        [JOURNAL_DIED] = METRIC_EVALUATIONS_DIED,
    };
    if (!op->keeps_record)
        return;
    session_count(s, metrics[outcome]);
    s->evaluations++;
    if (op->has_code)
        journal_add(&s->journal, s->evaluations, s->at, op->code.bytes == NULL ? "" : op->code.bytes,
                    op->code.len, op->package, outcome);
    session_tell(s, SESSIONS_STATE);
}

static void on_later(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (s->is_closing)
        sessions_close(s);
    else if (s->why != NULL)
        session_dispatch(s, &(struct event){.kind = EVENT_UNAVAILABLE});
    else
        session_proceed(s);
}

void session_later(struct session *s)
{
    uv_timer_start(s->later, on_later, 0, 0);
}

static void on_tick(uv_timer_t *timer)
{
    struct session *s = timer->data;
    struct operation *op = s->current;
    if (op == NULL || op->on_progress == NULL)
        return;
    struct strbuf line;
    strbuf_init(&line, 0);
    if (s->progress.len > 0)
        strbuf_add(&line, s->progress.bytes, s->progress.len);
    else
        capture_last_line(&s->output[s->last_stream], &line, LONGEST_PROGRESS);
    op->on_progress(op->arg, (double)(uv_now(s->host->loop) - s->started_at) / 1000.0,
                    s->output[0].total + s->output[1].total, strbuf_string(&line));
    strbuf_fini(&line);
}

void session_take_up(struct session *s, struct operation *op)
{
    s->current = op;
    s->stop = STOP_NONE;
    s->interrupts = 0;
    s->started_at = uv_now(s->host->loop);
    if (op->package == NULL)
        op->package = xstrdup(session_package(s));
    strbuf_clear(&s->progress);
    if (op->on_progress != NULL)
        uv_timer_start(s->ticker, on_tick, (uint64_t)s->host->waits.progress_ms,
                       (uint64_t)s->host->waits.progress_ms);
}

void session_put_back(struct session *s)
{
    s->current = NULL;
    uv_timer_stop(s->ticker);
}

void session_run_current(struct session *s)
{
    struct operation *op = s->current;
    s->is_asked_at_once = uv_hrtime() - s->answered_at_ns < AT_ONCE_NS;
    s->started_at = uv_now(s->host->loop);
    s->running_timeout_ms = op->timeout_ms > 0 ? op->timeout_ms : limits_timeout_ms(&s->limits);
    if (op->keeps_record && s->scratch == NULL)
        checkpoints_drop_after(&s->checkpoints, s->at);
    /* Behind the request for a copy it begins when that is answered (session_action_keep()), and its time
     * too. */
    bool is_behind = worker_state(session_runner(s)) == WORKER_BUSY;
    session_enter_state(s, SESSION_RUNNING, is_behind ? FREEZE_MS : s->running_timeout_ms);
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_add(&request, op->request.bytes, op->request.len);
    if (op->has_code) {
        /* What it defines is noted with the number that the journal gives it. */
        sexp_write_symbol(&request, "evaluation");
        sexp_write_integer(&request, (int64_t)s->evaluations + 1);
        if (limits_int(&s->limits, LIMIT_THREAD_ERRORS) > 0) {
            sexp_write_symbol(&request, "thread-errors");
            sexp_write_integer(&request, limits_int(&s->limits, LIMIT_THREAD_ERRORS));
        }
    }
    worker_call(session_runner(s), &request, NULL, 0);
    strbuf_fini(&request);
    /* One that goes on after an error is copied there first. */
    if (s->is_asked_at_once && op->keeps_record && !op->goes_on && s->scratch == NULL)
        session_ask_ahead(s);
    if (s->is_asked_at_once)
        session_thin_checkpoints_rarely(s);
}

void session_clear(struct session *s)
{
    session_forget_process(s);
    session_forget_image(s);
    checkpoints_clear(&s->checkpoints);
    s->at = s->evaluations = 0;
    session_clear_error(s);
    for (size_t i = 0; i < HISTORY; i++) {
        error_record_free(s->history[i]);
        s->history[i] = NULL;
    }
    s->errors = 0;
    journal_fini(&s->journal);
    capture_fini(&s->between);
    strbuf_clear(&s->notice);
    free(s->package);
    s->package = NULL;
    free(s->why_no_checkpoint);
    s->why_no_checkpoint = NULL;
    s->start_attempts = 0;
    s->fork_ms = s->last_fork_ms = 0;
    session_note_tools(s, NULL);
    session_tell(s, SESSIONS_STATE);
}

static void perform_reset(struct session *s, struct operation *op)
{
    session_clear(s);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK});
}

/* While a checkpoint is being made, an evaluation may be sent already: the process begins with it when it has
 * answered for the copy. */
static bool may_follow_copy(const struct session *s)
{
    const struct operation *op = list_entry(s->queue.next, struct operation, node);
    return s->state == SESSION_CHECKPOINTING && s->is_asked_at_once && s->making != NULL &&
           s->current == NULL && op->kind == OPERATION_RUN && op->keeps_record;
}

static bool may_proceed(const struct session *s)
{
    return s->state == SESSION_IDLE || s->state == SESSION_ABSENT || s->state == SESSION_ASLEEP ||
           may_follow_copy(s);
}

/* Where it may be done, do what is queued. In any other state the event that leads out of it comes back here.
 */
void session_proceed(struct session *s)
{
    bool was_reset = false;
    if (s->is_delivering)
        return;
    while (!list_is_empty(&s->queue) && may_proceed(s)) {
        struct operation *op = list_entry(s->queue.next, struct operation, node);
        if (op->kind == OPERATION_RESET) {
            perform_reset(s, op);
            was_reset = true;
            continue;
        }
        if (op->kind == OPERATION_RESTORE) {
            session_perform_restore(s, op);
            continue;
        }
        if (s->state == SESSION_ABSENT) {
            session_request_process(s);
            return;
        }
        if (s->state == SESSION_ASLEEP) {
            if (op->kind == OPERATION_SAVE && saving_start_asleep(s, op))
                continue;
            session_wake(s);
            return;
        }
        if (!worker_is_alive(s->worker))
            return; /* its end is being processed: GONE comes next and leads here again */
        if (op->kind == OPERATION_LOOK || op->kind == OPERATION_RESUME) {
            session_begin_scratch(s, op);
        } else if (op->kind == OPERATION_SAVE) {
            /* The answer to fork is waited for as for a checkpoint's. */
            if (saving_start(s, op))
                session_enter_state(s, SESSION_CHECKPOINTING, FREEZE_MS);
        } else if (op->kind == OPERATION_ROLLBACK) {
            session_perform_rollback(s, op);
        } else if (op->kind == OPERATION_CHECKPOINT) {
            session_take_up(s, op);
            session_make_checkpoint(s, op->name);
            if (s->state != SESSION_CHECKPOINTING)
                session_deliver(s, op,
                                &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = s->why_no_checkpoint});
        } else {
            session_take_up(s, op);
            session_run_current(s);
        }
    }
    if (was_reset && s->state == SESSION_ABSENT)
        session_request_process(s); /* so that the next call finds it ready */
}

void session_action_ignore(struct session *s, struct event *e)
{
    (void)s;
    (void)e;
}

void session_action_start(struct session *s, struct event *e)
{
    (void)e;
    session_proceed(s);
}

void session_give_up_waiting(struct session *s, const char *why)
{
    /* Only those that wait now: what a done queues anew gets an attempt of its own. */
    struct list waiting, *node, *next;
    list_init(&waiting);
    list_for_each(node, next, &s->queue)
    {
        list_remove(node);
        list_append(&waiting, node);
    }
    while (!list_is_empty(&waiting)) {
        struct operation *op = list_entry(waiting.next, struct operation, node);
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
    }
    if (!list_is_empty(&s->queue))
        session_later(s);
}

/* An operation that never began. */
bool session_drop_waiting(struct session *s, struct strbuf *what)
{
    struct operation *op =
        list_is_empty(&s->queue) ? NULL : list_entry(s->queue.next, struct operation, node);
    if (op == NULL || op->kind == OPERATION_RESET || op->kind == OPERATION_RESTORE)
        return false;
    strbuf_add(what, op->what.bytes, op->what.len);
    struct error_record *r =
        error_record_make("CANCELLED", "The evaluation was cancelled before it began.", NULL);
    r->session = s;
    session_deliver_error(s, op, r);
    return true;
}

void session_action_finish(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    struct operation *op = s->current;
    bool ok = session_is_reply(e->document, "ok");
    bool is_evaluation = op->keeps_record && ok;
    bool is_scratch = s->scratch != NULL;
    /* Not idle until the answer is out: what a done submits waits for what follows here. */
    uv_timer_stop(s->timer);
    if (is_scratch && is_evaluation && op->kind == OPERATION_RESUME)
        session_promote_scratch(s);
    if (s->scratch == NULL)
        session_remember_package(s, reply);
    if (is_evaluation) {
        if (!op->has_met_error)
            session_clear_error(s);
        s->is_untried = false;
        session_write_journal(s, op, JOURNAL_OK);
        s->at = s->evaluations;
    }
    struct error_record *examined = ok && op->is_examination ? session_find_error(s, op->sequence) : NULL;
    if (examined != NULL && examined->details == NULL) {
        examined->details = e->document;
        e->document = NULL;
    }
    session_deliver(s, op, &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
    if (s->scratch != NULL) {
        session_leave_scratch(s);
    } else if (is_evaluation) {
        session_keep_state(s);
    } else {
        session_settle_down(s);
    }
}

void session_action_discard(struct session *s, struct event *e)
{
    (void)s;
    sexp_document_free(e->document);
}

typedef void action(struct session *s, struct event *e);

static action *const actions[SESSION_ACTION_COUNT] = {
#define X(name) [ACTION_##name] = session_action_##name,
    SESSION_ACTIONS(X)
#undef X
};

void session_dispatch(struct session *s, struct event *event)
{
    actions[session_table[s->state][event->kind]](s, event);
}
