/*
 * The life of a session: its process comes, operations go to it, fail, are stopped, are unwound. What happens when is in
 * session_states.c; here and in the files beside it (session_internal.h) is what each action does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/session_internal.h"

#define RUNG_MS 1000       /* the ladder: interrupt, one rung, interrupt again, one rung, kill */
#define EXAMINE_MS 500     /* for reading locals after a failure */
#define ABORT_MS 2000      /* for the cleanup forms of a failed operation */
#define PROGRESS_MS 900    /* so that somebody who asked hears at least once a second */
#define LONGEST_PROGRESS 200
#define START_ATTEMPTS 3
#define HELLO_MS 10000     /* for a copy of the zygote to say hello */
#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */
#define ENTERABLE 5         /* errors that keep their frozen process */
#define AT_ONCE_NS 2000000  /* after the last answer */

/*
 * Where the agent does what we have asked of it, and is given little time for it. The limits of what the user asked for count
 * on the clock, as the user meant them.
 */
static bool is_patient(enum session_state state, int deadline_ms)
{
    bool is_copying = state == SESSION_FREEZING || state == SESSION_CHECKPOINTING;
    return (is_copying && deadline_ms < FREEZE_MS) || state == SESSION_STARTING || state == SESSION_PROVING || state == SESSION_REPLAYING || state == SESSION_ABORTING || state == SESSION_FORCING;
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
    int more_ms = patience_more_ms(&s->patience, process_waited_for(s));
    if (more_ms > 0)
        uv_timer_start(timer, on_deadline, (uint64_t)more_ms, 0);
    else
        session_happen(s, &(struct event){.kind = EVENT_DEADLINE});
}

static void set_deadline(struct session *s, int deadline_ms)
{
    patience_begin(&s->patience, is_patient(s->state, deadline_ms) ? deadline_ms : 0, process_waited_for(s));
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
        session_rests(s);
    } else if (state != SESSION_CHECKPOINTING) {
        session_stirs(s);
    }
    if (deadline_ms > 0)
        set_deadline(s, deadline_ms);
    else
        uv_timer_stop(s->timer);
}

static struct worker *runner(const struct session *s)
{
    return s->visitor != NULL ? s->visitor : s->worker;
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

bool session_is_reply(const struct sexp_document *document, const char *kind)
{
    return document != NULL && sexp_is_symbol(sexp_nth(sexp_root(document), 1), kind);
}

/* The record is the session's from here on; of the older ones only the last few can be entered. */
static void remember_error(struct session *s, struct error_record *r)
{
    struct error_record **slot = &s->history[s->errors % HISTORY];
    error_record_free(*slot);
    *slot = r;
    r->sequence = (int)++s->errors;
    s->has_error = true;
    if (s->errors > ENTERABLE)
        error_record_thaw(s->history[(s->errors - 1 - ENTERABLE) % HISTORY]);
    session_tell(s, SESSIONS_ERROR);
}

static void clear_error(struct session *s)
{
    bool had_error = s->has_error;
    s->has_error = false;
    if (had_error)
        session_tell(s, SESSIONS_ERROR);
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
        journal_add(&s->journal, s->evaluations, s->at, op->code.bytes == NULL ? "" : op->code.bytes, op->code.len, op->package, outcome);
    session_tell(s, SESSIONS_STATE);
}

/* Deliver an error; a record that is not to be kept is freed. */
void session_deliver_error(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_kept = op->keeps_record;
    if (is_kept)
        remember_error(s, r);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_ERROR, .error = r});
    if (!is_kept) {
        if (s->examined == r)
            s->examined = NULL;
        error_record_free(r);
    }
}

/* What the process told: "" for none. */
static void write_tools(struct strbuf *out, const struct sexp *tools)
{
    strbuf_clear(out);
    if (sexp_count(tools) > 0)
        sexp_write_value(out, tools);
    if (out->is_overflown)
        strbuf_clear(out);
}

void session_note_tools(struct session *s, const struct sexp *tools)
{
    struct strbuf told;
    strbuf_init(&told, MOST_TOOLS_TEXT);
    write_tools(&told, tools);
    session_take_tools(s, &told);
}

void session_take_tools(struct session *s, struct strbuf *told)
{
    bool is_news = told->len != s->tools.len || (told->len > 0 && memcmp(told->bytes, s->tools.bytes, told->len) != 0);
    struct strbuf had = s->tools;
    s->tools = *told;
    strbuf_init(told, MOST_TOOLS_TEXT);
    strbuf_fini(&had);
    if (is_news)
        session_tell(s, SESSIONS_TOOLS);
}

void session_note_visitor_tools(struct session *s, const struct sexp *tools)
{
    write_tools(&s->visitor_tools, tools);
}

/* The visitor's events are the process's own, but for its replies and its end. */
static void on_ready(void *arg, const struct sexp *hello)
{
    struct session *s = arg;
    const struct sexp *tools = sexp_get(hello, 2, "tools");
    if (s->visitor != NULL)
        session_note_visitor_tools(s, tools);
    else
        session_note_tools(s, tools);
    session_happen(s, &(struct event){.kind = EVENT_READY});
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    struct session *s = arg;
    /* While a visitor runs, the process can only be answering the request for that copy. */
    if (s->visitor != NULL) {
        session_action_answered(s, &(struct event){.kind = EVENT_COPIED, .document = reply});
        return;
    }
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        session_note_tools(s, tools);
    enum session_event kind = worker_has_copied(s->worker) ? EVENT_COPIED : session_is_reply(reply, "error") ? EVENT_FAILED : EVENT_OK;
    session_happen(s, &(struct event){.kind = kind, .document = reply});
}

static void on_progress(void *arg, const struct sexp *event)
{
    struct session *s = arg;
    size_t len;
    const char *message = sexp_string(sexp_get(event, 2, "message"), &len);
    if (message == NULL || s->current == NULL)
        return;
    strbuf_clear(&s->progress);
    strbuf_add(&s->progress, message, utf8_floor(message, len, len < 400 ? len : 400));
}

static void on_output(void *arg, enum worker_stream stream, const char *bytes, size_t len)
{
    struct session *s = arg;
    s->host->metrics.counters[METRIC_OUTPUT_BYTES] += len;
    capture_add(s->current != NULL ? &s->output[stream] : &s->between, bytes, len);
    s->last_stream = stream;
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct session *s = arg;
    /* While a visitor runs, this waits until it has left (session_leave()). */
    if (s->visitor == NULL)
        session_happen(s, &(struct event){.kind = EVENT_GONE, .end = end});
}

struct worker_events session_process_events(struct session *s)
{
    return (struct worker_events){.on_ready = on_ready, .on_reply = on_reply, .on_progress = on_progress, .on_output = on_output, .on_gone = on_gone, .arg = s};
}

void session_call(struct session *s, const char *request)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    strbuf_adds(&b, request);
    worker_call(s->worker, &b, NULL, 0);
    strbuf_fini(&b);
}

static void on_worker(void *arg, struct worker *worker)
{
    struct session *s = arg;
    s->is_requested = false;
    s->worker = worker;
    set_deadline(s, HELLO_MS);
}

static void on_later(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (s->is_closing)
        sessions_close(s);
    else if (s->why != NULL)
        session_happen(s, &(struct event){.kind = EVENT_UNAVAILABLE});
    else
        session_proceed(s);
}

void session_later(struct session *s)
{
    uv_timer_start(s->later, on_later, 0, 0);
}

/* May be said inside zygote_fork(), which may be inside the caller's session_run(): so it takes effect a moment later. */
static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    if (err->code == ERR_LIMIT && session_relieve_processes(s)) {
        zygotes_fork(s->host->zygotes, &s->request);
        return;
    }
    s->is_requested = false;
    free(s->why);
    s->why = xstrdup(err->message);
    session_later(s);
}

void session_request_process(struct session *s)
{
    session_enter_state(s, SESSION_STARTING, 0);
    s->heap_mib = limits_int(&s->limits, LIMIT_MAX_HEAP);
    s->request = (struct zygote_request){.events = session_process_events(s), .on_worker = on_worker, .on_failed = on_failed, .arg = s, .heap_mib = s->heap_mib, .quota = &s->all->processes};
    s->is_requested = true;
    zygotes_fork(s->host->zygotes, &s->request);
}

void session_forget_process(struct session *s)
{
    if (s->is_requested)
        zygote_fork_cancel(&s->request);
    s->is_requested = false;
    if (s->worker != NULL)
        zygotes_disown(s->host->zygotes, s->worker);
    worker_free(s->visitor);
    worker_free(s->worker);
    s->visitor = s->worker = NULL;
    s->examined = s->awaited = NULL;
    s->source = NULL;
    s->making = NULL;
    session_drop_ahead(s);
    s->owes_checkpoint = false;
    session_enter_state(s, SESSION_ABSENT, 0);
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
    op->on_progress(op->arg, (double)(uv_now(s->host->loop) - s->started_at) / 1000.0, s->output[0].total + s->output[1].total, strbuf_string(&line));
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
        uv_timer_start(s->ticker, on_tick, PROGRESS_MS, PROGRESS_MS);
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
    if (op->keeps_record && s->visitor == NULL)
        checkpoints_drop_after(&s->checkpoints, s->at);
    /* Behind the request for a copy it begins when that is answered (session_action_keep()), and its time too. */
    bool is_behind = worker_state(runner(s)) == WORKER_BUSY;
    session_enter_state(s, SESSION_RUNNING, is_behind ? FREEZE_MS : s->running_timeout_ms);
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_add(&request, op->request.bytes, op->request.len);
    if (op->has_code) {
        /* What it defines is noted with the number that the journal gives it. */
        sexp_write_symbol(&request, "evaluation");
        sexp_write_integer(&request, (int64_t)s->evaluations + 1);
    }
    worker_call(runner(s), &request, NULL, 0);
    strbuf_fini(&request);
    /* One that goes on after an error is copied there first. */
    if (s->is_asked_at_once && op->keeps_record && !op->goes_on && s->visitor == NULL)
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
    clear_error(s);
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

/* While a checkpoint is being made, an evaluation may be sent already: the process begins with it when it has answered for the copy. */
static bool may_follow_copy(const struct session *s)
{
    const struct operation *op = list_entry(s->queue.next, struct operation, node);
    return s->state == SESSION_CHECKPOINTING && s->is_asked_at_once && s->making != NULL && s->current == NULL && op->kind == OPERATION_RUN && op->keeps_record;
}

static bool may_proceed(const struct session *s)
{
    return s->state == SESSION_IDLE || s->state == SESSION_ABSENT || s->state == SESSION_ASLEEP || may_follow_copy(s);
}

/* Where it may be done, do what is queued. In any other state the event that leads out of it comes back here. */
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
            session_visit(s, op);
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
                session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = s->why_no_checkpoint});
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

void session_action_begin(struct session *s, struct event *e)
{
    if (e->kind == EVENT_READY) {
        s->start_attempts = 0;
        zygotes_disown(s->host->zygotes, s->worker);
        session_enter_state(s, SESSION_IDLE, 0);
        const char *notices = zygotes_notices(s->host->zygotes, s->heap_mib);
        if (s->evaluations == 0 && notices[0] != '\0' && s->notice.len == 0)
            strbuf_adds(&s->notice, notices);
        if (s->is_returning) {
            session_returned(s);
            return;
        }
    }
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

void session_action_give_up(struct session *s, struct event *e)
{
    (void)e;
    session_forget_process(s);
    s->start_attempts = 0;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
    if (s->is_returning) {
        strbuf_addf(&s->return_text, " It could not be started again: %s", why);
        session_bury(s);
    }
    session_give_up_waiting(s, why);
    free(why);
}

void session_action_start_again(struct session *s, struct event *e)
{
    session_forget_process(s);
    if (++s->start_attempts < START_ATTEMPTS) {
        session_request_process(s);
        return;
    }
    const char *why = zygotes_why(s->host->zygotes, s->heap_mib);
    free(s->why);
    s->why = xstrdup(why[0] != '\0' ? why : "The session's process ended before it was ready.");
    session_action_give_up(s, e);
}

/* An operation that never began. */
bool session_drop_waiting(struct session *s, struct strbuf *what)
{
    struct operation *op = list_is_empty(&s->queue) ? NULL : list_entry(s->queue.next, struct operation, node);
    if (op == NULL || op->kind == OPERATION_RESET || op->kind == OPERATION_RESTORE)
        return false;
    strbuf_add(what, op->what.bytes, op->what.len);
    struct error_record *r = error_record_make("CANCELLED", "The evaluation was cancelled before it began.", NULL);
    r->session = s;
    session_deliver_error(s, op, r);
    return true;
}

/* Its end, which follows, leads to start_again. */
void session_action_cut_short(struct session *s, struct event *e)
{
    (void)e;
    worker_kill(s->worker);
}

void session_action_finish(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    struct operation *op = s->current;
    bool ok = session_is_reply(e->document, "ok");
    bool is_evaluation = op->keeps_record && ok;
    bool is_visit = s->visitor != NULL;
    /* Not idle until the answer is out: what a done submits waits for what follows here. */
    uv_timer_stop(s->timer);
    if (is_visit && is_evaluation && op->kind == OPERATION_RESUME)
        session_move_in(s);
    if (s->visitor == NULL)
        session_remember_package(s, reply);
    if (is_evaluation) {
        if (!op->has_met_error)
            clear_error(s);
        s->is_unproven = false;
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
    if (s->visitor != NULL) {
        session_leave(s);
    } else if (is_evaluation) {
        session_keep_state(s);
    } else {
        session_settle_down(s);
    }
}

/* Did an evaluation leave the failure that is being unwound, or a look-up? */
static bool is_of_evaluation(const struct session *s)
{
    return s->held != NULL ? s->current->keeps_record : s->examined != NULL;
}

/* What cannot be read later from a copy is read now. */
static void examine(struct session *s)
{
    char request[64];
    snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
    session_enter_state(s, SESSION_EXAMINING, EXAMINE_MS);
    session_call(s, request);
}

/* The operation that met an error goes on where it was, with the time it has left. */
static void go_on(struct session *s)
{
    struct operation *op = s->current;
    uint64_t spent_ms = uv_now(s->host->loop) - s->started_at;
    op->is_put_aside = false;
    s->examined = NULL;
    session_enter_state(s, SESSION_RUNNING, spent_ms < (uint64_t)s->running_timeout_ms ? s->running_timeout_ms - (int)spent_ms : 1);
    session_call(s, ":invoke-restart :restart \"GO-ON\" :value \"t\"");
    if (op->is_to_stop)
        session_happen(s, &(struct event){.kind = EVENT_CANCEL});
}

/* An error that the operation survives: it is kept like any other and can be entered. */
static void put_aside(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    op->is_put_aside = op->has_met_error = true;
    r->evaluation = s->evaluations;
    remember_error(s, r);
    struct err err = {0};
    struct worker_events events = session_record_events(r);
    if (limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && worker_is_alive(s->worker))
        r->frozen = session_copy_process(s, &events, &err);
    if (r->frozen != NULL) {
        s->examined = r;
        session_enter_state(s, SESSION_FREEZING, FREEZE_MS);
    } else {
        r->why_not_frozen = xstrdup(err.message[0] != '\0' ? err.message : "This session makes no copies of itself (checkpoint-limit is 0).");
        go_on(s);
    }
}

void session_action_put_off(struct session *s, struct event *e)
{
    (void)e;
    if (s->current != NULL && s->current->is_put_aside)
        s->current->is_to_stop = true;
}

/* What failed is unwound, and the state that this leaves is copied. */
static void unwind(struct session *s, int deadline_ms)
{
    session_enter_state(s, SESSION_ABORTING, deadline_ms);
    session_call(s, ":abort");
    if (is_of_evaluation(s))
        session_ask_ahead(s);
}

void session_action_freeze(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    r->session = s;
    if (op->goes_on && s->visitor == NULL && s->stop == STOP_NONE && !sexp_is_nil(sexp_get(r->condition, 2, "goes-on"))) {
        put_aside(s, r);
        return;
    }
    if (s->visitor != NULL) {
        session_visitor_failed(s, op, r);
        return;
    }
    session_remember_package(s, r->condition);
    bool is_stopped = s->stop != STOP_NONE && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt");
    session_write_journal(s, op, is_stopped ? JOURNAL_STOPPED : JOURNAL_ERROR);
    s->at_before = s->at;
    if (op->keeps_record) {
        s->at = s->evaluations;
        s->is_unproven = false;
        r->evaluation = s->at;
    }
    s->examined = r;
    /* A look-up's error is nobody's to enter; and after a second interrupt the Lisp stands in no error any more. */
    bool is_enterable = op->keeps_record && sexp_count(sexp_get(r->condition, 2, "restarts")) > 0;
    /* How a stopped operation ended is known only when it has been unwound; everything else is reported at once. */
    if (is_stopped)
        s->held = r;
    else
        session_deliver_error(s, op, r);
    struct err err;
    struct worker_events events = session_record_events(r);
    bool may_copy = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0;
    /* ${r} is gone already if it was a look-up's. */
    struct worker *frozen = NULL;
    if (is_enterable && may_copy && worker_is_alive(s->worker))
        frozen = r->frozen = session_copy_process(s, &events, &err);
    session_drop_ahead(s);
    if (worker_state(s->worker) == WORKER_BUSY) {
        session_enter_state(s, SESSION_FREEZING, frozen != NULL ? FREEZE_MS : ANSWER_MS);
    } else if (is_enterable && !may_copy) {
        r->why_not_frozen = xstrdup("This session makes no copies of itself (checkpoint-limit is 0).");
        examine(s);
    } else {
        unwind(s, ABORT_MS);
    }
}

static int time_to_unwind(const struct session *s)
{
    if (s->held == NULL)
        return ABORT_MS;
    uint64_t now = uv_now(s->host->loop);
    int left = s->kill_at > now ? (int)(s->kill_at - now) : 0;
    return left < 100 ? 100 : left > RUNG_MS ? RUNG_MS : left;
}

void session_action_frozen(struct session *s, struct event *e)
{
    bool ok = session_is_reply(e->document, "ok");
    if (ok && s->examined != NULL && s->examined->frozen != NULL)
        worker_begin(s->examined->frozen, sexp_integer(sexp_get(sexp_root(e->document), 2, "pid"), 0));
    if (!ok && s->examined != NULL) {
        s->examined->why_not_frozen = xstrdup(session_why_not_copied(e->document));
        error_record_thaw(s->examined);
    } else if (s->examined != NULL && s->examined->frozen != NULL && worker_state(s->examined->frozen) == WORKER_GONE) {
        error_record_thaw(s->examined);
    }
    if (s->current != NULL && s->current->is_put_aside) {
        go_on(s);
    } else if (!ok && s->examined != NULL) {
        examine(s);
    } else {
        unwind(s, time_to_unwind(s));
    }
    sexp_document_free(e->document);
}

void session_action_keep(struct session *s, struct event *e)
{
    session_note_copy(s, e);
    sexp_document_free(e->document);
    s->started_at = uv_now(s->host->loop);
    s->kill_at = s->started_at + 2 * RUNG_MS;
    session_enter_state(s, s->state, s->state == SESSION_RUNNING ? s->running_timeout_ms : RUNG_MS);
}

void session_action_interrupt(struct session *s, struct event *e)
{
    bool has_begun = worker_has_begun(runner(s));
    if (!has_begun && e->kind == EVENT_DEADLINE) {
        session_action_kill(s, e); /* the process does not answer for the copy before */
        return;
    }
    s->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    s->interrupts = 1;
    s->kill_at = uv_now(s->host->loop) + 2 * RUNG_MS;
    session_enter_state(s, SESSION_INTERRUPTING, has_begun ? RUNG_MS : FREEZE_MS);
    worker_interrupt(runner(s)); /* one that has not begun is stopped when it does */
}

void session_action_insist(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    session_enter_state(s, SESSION_INSISTING, RUNG_MS);
    worker_interrupt(runner(s));
}

void session_action_kill(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    if (runner(s) == NULL) {
        /* PROVING, and the checkpoint has not even made a copy. */
        if (s->source != NULL)
            checkpoint_drop(s->source);
        s->source = NULL;
        session_go_back(s);
        return;
    }
    if (s->awaited != NULL) {
        /* VISITING, and the frozen process does not come up: it is of no use. */
        error_record_thaw(s->awaited);
        session_invite(s);
        return;
    }
    session_enter_state(s, SESSION_KILLING, 0);
    worker_kill(runner(s)); /* GONE may have happened when this returns, if the process has no number yet */
}

void session_action_abort(struct session *s, struct event *e)
{
    if (s->examined != NULL && session_is_reply(e->document, "ok"))
        s->examined->details = e->document;
    else
        sexp_document_free(e->document);
    unwind(s, time_to_unwind(s));
}

void session_action_hurry(struct session *s, struct event *e)
{
    (void)e;
    session_enter_state(s, SESSION_HURRYING, RUNG_MS);
    worker_interrupt(s->worker);
}

void session_action_force(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    session_enter_state(s, SESSION_FORCING, RUNG_MS);
    worker_interrupt(s->worker);
}

/* "2", "0.5", "30": without the zeros of a fixed format. */
static const char *seconds(int ms, char *out, size_t size)
{
    snprintf(out, size, "%.10g", ms / 1000.0);
    return out;
}

/* The words of a stopped operation: what stopped it, which step of the ladder worked, what to do about it. */
void session_word_stop(struct session *s, struct error_record *r, bool was_killed)
{
    char number[32];
    struct strbuf b;
    strbuf_init(&b, 0);
    free(r->type);
    r->type = xstrdup(s->stop == STOP_TIMEOUT ? "TIMEOUT" : "CANCELLED");
    if (s->stop == STOP_TIMEOUT)
        strbuf_addf(&b, "The evaluation was stopped at its time limit of %s s.", seconds(s->running_timeout_ms, number, sizeof number));
    else
        strbuf_addf(&b, "The evaluation was cancelled after %s s.", seconds((int)(uv_now(s->host->loop) - s->started_at), number, sizeof number));
    if (was_killed)
        strbuf_adds(&b, " It did not give way to two interrupts, so its process was killed.");
    else if (s->interrupts > 1)
        strbuf_adds(&b, " It gave way to the second interrupt; the session is intact.");
    else
        strbuf_adds(&b, " It was interrupted where it was; the session is intact.");
    /* A look into the image has a limit that nobody sets. */
    bool is_look = s->current != NULL && !s->current->keeps_record;
    if (s->stop == STOP_TIMEOUT && !is_look) {
        strbuf_adds(&b, "\nFor more time give this call a longer timeout, or set one for the session with configure-limits.");
        if (r->frozen != NULL)
            strbuf_adds(&b, "\ninvoke-restart CONTINUE goes on from where it was stopped.");
    }
    free(r->message);
    r->message = strbuf_steal(&b, NULL);
}

void session_action_settle(struct session *s, struct event *e)
{
    if (e->document != NULL)
        session_remember_package(s, sexp_root(e->document));
    sexp_document_free(e->document);
    struct error_record *held = s->held;
    struct operation *op = s->current;
    bool is_evaluation = is_of_evaluation(s);
    s->held = NULL;
    s->examined = NULL;
    if (held != NULL) {
        session_word_stop(s, held, false);
        session_deliver_error(s, op, held);
    }
    if (is_evaluation)
        session_keep_state(s);
    else
        session_settle_down(s);
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

void session_happen(struct session *s, struct event *event)
{
    actions[session_table[s->state][event->kind]](s, event);
}
