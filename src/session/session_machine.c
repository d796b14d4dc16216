/*
 * The life of a session. What happens when is in session_states.c; here is what each action does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proc/memory.h"
#include "session/saved.h"
#include "session/session_internal.h"

#define RUNG_MS 1000       /* the ladder: interrupt, one rung, interrupt again, one rung, kill */
#define VISIT_MS 5000      /* for copying a frozen error */
#define FREEZE_MS 30000    /* for copying the process */
#define EXAMINE_MS 500     /* for reading locals after a failure */
#define ABORT_MS 2000      /* for the cleanup forms of a failed operation */
#define PROVE_MS 5000      /* for the process that was returned to to show that it lives */
#define START_MS 20000     /* for a saved image to start */
#define REPLAY_MS 10000    /* for evaluating one entry of the journal again */
#define IDLE_MS 1000       /* that long */
#define MEMORY_LOOK_MS 1000
#define START_ATTEMPTS 3
#define HELLO_MS 10000     /* for a copy of the zygote to say hello */
#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */
#define ENTERABLE 5         /* errors that keep their frozen process */
#define UNDONE_SHOWN 10

static void proceed(struct session *s);
static void go_back(struct session *s);

static void on_deadline(uv_timer_t *timer)
{
    session_happen(timer->data, &(struct event){.kind = EVENT_DEADLINE});
}

static void enter_state(struct session *s, enum session_state state, int deadline_ms)
{
    log_debug("session %s: %s -> %s", s->name, session_state_text(s->state), session_state_text(state));
    s->state = state;
    if (deadline_ms > 0)
        uv_timer_start(s->timer, on_deadline, (uint64_t)deadline_ms, 0);
    else
        uv_timer_stop(s->timer);
}

static struct worker *runner(const struct session *s)
{
    return s->visitor != NULL ? s->visitor : s->worker;
}

static void remember_package(struct session *s, const struct sexp *reply)
{
    size_t len;
    const char *package = sexp_string(sexp_get(reply, 2, "package"), &len);
    if (package != NULL && (s->package == NULL || strcmp(package, s->package) != 0)) {
        free(s->package);
        s->package = xmemdup0(package, len);
    }
}

static bool is_reply(const struct sexp_document *document, const char *kind)
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
}

static void write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome)
{
    if (!op->keeps_record)
        return;
    s->evaluations++;
    if (op->has_code)
        journal_add(&s->journal, s->evaluations, op->code.bytes == NULL ? "" : op->code.bytes, op->code.len, session_package(s), outcome);
}

/* Deliver an error; a record that is not to be kept is freed. */
static void deliver_error(struct session *s, struct operation *op, struct error_record *r)
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

/* ---- what workers say ---- */

static void on_ready(void *arg, const struct sexp *hello)
{
    (void)hello;
    session_happen(arg, &(struct event){.kind = EVENT_READY});
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    session_happen(arg, &(struct event){.kind = is_reply(reply, "error") ? EVENT_FAILED : EVENT_OK, .document = reply});
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
    capture_add(s->current != NULL ? &s->output[stream] : &s->between, bytes, len);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct session *s = arg;
    /* While a visitor runs, this waits until it has left (leave()). */
    if (s->visitor == NULL)
        session_happen(s, &(struct event){.kind = EVENT_GONE, .end = end});
}

static void on_visitor_gone(void *arg, const struct child_end *end)
{
    session_happen(arg, &(struct event){.kind = EVENT_GONE, .end = end, .is_visitor = true});
}

static struct worker_events process_events(struct session *s)
{
    return (struct worker_events){.on_ready = on_ready, .on_reply = on_reply, .on_progress = on_progress, .on_output = on_output, .on_gone = on_gone, .arg = s};
}

/* A frozen process answers nothing but the fork it is asked for, and that is learnt from the copy itself. */
static void on_frozen_reply(void *arg, struct sexp_document *reply)
{
    (void)arg;
    sexp_document_free(reply);
}

static void on_frozen_progress(void *arg, const struct sexp *event)
{
    (void)arg;
    (void)event;
}

static void invite(struct session *s);

/* A visit may have been asked for before the frozen process was there. */
static void on_record_ready(void *arg, const struct sexp *hello)
{
    (void)hello;
    struct error_record *r = arg;
    if (r->session->awaited == r)
        invite(r->session);
}

static void on_record_gone(void *arg, const struct child_end *end)
{
    (void)end;
    struct error_record *r = arg;
    error_record_thaw(r);
    if (r->session->awaited == r)
        invite(r->session);
}

static struct worker_events record_events(struct error_record *r)
{
    return (struct worker_events){.on_ready = on_record_ready, .on_reply = on_frozen_reply, .on_progress = on_frozen_progress, .on_gone = on_record_gone, .arg = r};
}

static void ask_source(struct session *s);

static struct session *session_of(const struct checkpoint *cp)
{
    return (struct session *)(void *)((char *)cp->owner - offsetof(struct session, checkpoints));
}

static void on_checkpoint_ready(void *arg, const struct sexp *hello)
{
    (void)hello;
    struct checkpoint *cp = arg;
    struct session *s = session_of(cp);
    if (s->source == cp && s->worker == NULL)
        ask_source(s);
}

/* A checkpoint was killed from outside: its state was no worse than the others, so that what came after them is worth evaluating again. */
static void lower_best(struct session *s)
{
    const struct checkpoint *cp = checkpoints_newest(&s->checkpoints, s->died_at);
    s->best = cp == NULL ? 0 : cp->evaluation;
}

static void on_checkpoint_gone(void *arg, const struct child_end *end)
{
    struct checkpoint *cp = arg;
    struct session *s = session_of(cp);
    bool was_killed = end->signal == SIGKILL;
    bool was_source = s->source == cp;
    if (s->making == cp)
        s->making = NULL;
    if (was_source)
        s->source = NULL;
    checkpoint_drop(cp);
    /* If it has made its copy already, the copy lives without it. */
    if (was_source && s->worker == NULL) {
        if (was_killed)
            lower_best(s);
        go_back(s);
    }
}

static struct worker_events checkpoint_events(struct checkpoint *cp)
{
    return (struct worker_events){.on_ready = on_checkpoint_ready, .on_reply = on_frozen_reply, .on_progress = on_frozen_progress, .on_gone = on_checkpoint_gone, .arg = cp};
}

/* Ask ${original} for a copy of itself. NULL, with the reason in *err, if there are no descriptors for it. */
static struct worker *fork_from(struct worker *original, const struct worker_events *events, struct err *err)
{
    int channel;
    struct worker *copy = worker_new_copy(original, events, &channel, err);
    if (copy == NULL)
        return NULL;
    worker_fork(original, &channel, 1);
    return copy;
}

static void call(struct session *s, const char *request)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    strbuf_adds(&b, request);
    worker_call(s->worker, &b, NULL, 0);
    strbuf_fini(&b);
}

/* ---- the process comes ---- */

static void on_worker(void *arg, struct worker *worker)
{
    struct session *s = arg;
    s->is_requested = false;
    s->worker = worker;
    uv_timer_start(s->timer, on_deadline, HELLO_MS, 0);
}

static void on_later(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (s->is_closing)
        sessions_close(s);
    else if (s->why != NULL)
        session_happen(s, &(struct event){.kind = EVENT_UNAVAILABLE});
    else if (s->state == SESSION_IDLE || s->state == SESSION_ABSENT)
        proceed(s);
}

void session_later(struct session *s)
{
    uv_timer_start(s->later, on_later, 0, 0);
}

/* May be said inside zygote_fork(), which may be inside the caller's session_run(): so it takes effect a moment later. */
static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    s->is_requested = false;
    free(s->why);
    s->why = xstrdup(err->message);
    session_later(s);
}

static void request_process(struct session *s)
{
    enter_state(s, SESSION_STARTING, 0);
    s->request = (struct zygote_request){.events = process_events(s), .on_worker = on_worker, .on_failed = on_failed, .arg = s};
    s->is_requested = true;
    zygote_set_heap(s->all->zygote, limits_int(&s->limits, LIMIT_MAX_HEAP));
    zygote_fork(s->all->zygote, &s->request);
}

void session_forget_process(struct session *s)
{
    if (s->is_requested)
        zygote_fork_cancel(&s->request);
    s->is_requested = false;
    if (s->worker != NULL)
        zygote_disown(s->all->zygote, s->worker);
    worker_free(s->visitor);
    worker_free(s->worker);
    s->visitor = s->worker = NULL;
    s->examined = s->awaited = NULL;
    s->source = NULL;
    s->making = NULL;
    s->owes_checkpoint = false;
    enter_state(s, SESSION_ABSENT, 0);
}

/* ---- checkpoints ---- */

/* When the machine runs out of memory, old states are worth less than running programs: of each session only the newest stays. */
static void relieve_memory(struct sessions *all)
{
    uint64_t now = uv_now(all->loop);
    if (now - all->memory_looked_at < MEMORY_LOOK_MS)
        return;
    all->memory_looked_at = now;
    if (!memory_is_short())
        return;
    log_warning("memory is short: old checkpoints are dropped");
    struct list *node, *next;
    list_for_each(node, next, &all->all)
    {
        struct session *s = list_entry(node, struct session, node);
        if (s->source == NULL && s->making == NULL)
            checkpoints_thin(&s->checkpoints, 1);
    }
}

static void make_checkpoint(struct session *s, const char *name)
{
    relieve_memory(s->all);
    struct err err;
    struct checkpoint *cp = checkpoints_add(&s->checkpoints, NULL, s->at, session_package(s));
    struct worker_events events = checkpoint_events(cp);
    cp->worker = fork_from(s->worker, &events, &err);
    if (cp->worker == NULL) {
        checkpoint_drop(cp);
        free(s->why_no_checkpoint);
        s->why_no_checkpoint = xstrdup(err.message);
        return;
    }
    cp->name = xstrdup(name);
    s->making = cp;
    s->owes_checkpoint = false;
    s->forked_at = uv_hrtime();
    enter_state(s, SESSION_CHECKPOINTING, FREEZE_MS);
}

/* An evaluation is over and was answered: keep its state, now or when there is time. */
static void keep_state(struct session *s)
{
    enter_state(s, SESSION_IDLE, 0);
    if (limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && worker_is_alive(s->worker)) {
        if (session_checkpoints_when_idle(s)) {
            s->owes_checkpoint = true;
            enter_state(s, SESSION_IDLE, IDLE_MS);
        } else {
            make_checkpoint(s, NULL);
        }
    }
    proceed(s);
}

static void action_checkpoint(struct session *s, struct event *e)
{
    (void)e;
    if (s->owes_checkpoint && worker_is_alive(s->worker))
        make_checkpoint(s, NULL);
}

/* A name means one state: the newest that was given it. */
static void drop_namesakes(struct session *s, const struct checkpoint *keep)
{
    struct list *node, *next;
    list_for_each(node, next, &s->checkpoints.all)
    {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp != keep && cp->name != NULL && strcmp(cp->name, keep->name) == 0)
            checkpoint_drop(cp);
    }
}

static void action_kept(struct session *s, struct event *e)
{
    bool ok = is_reply(e->document, "ok");
    double ms = (double)(uv_hrtime() - s->forked_at) / 1e6;
    /* The lesser of the last two: one that the scheduler held up says nothing about the next. */
    s->fork_ms = s->last_fork_ms > 0 && s->last_fork_ms < ms ? s->last_fork_ms : ms;
    s->last_fork_ms = ms;
    struct checkpoint *cp = s->making;
    s->making = NULL;
    free(s->why_no_checkpoint);
    s->why_no_checkpoint = NULL;
    if (!ok) {
        const char *why = sexp_string(sexp_nth(sexp_root(e->document), 2), NULL);
        s->why_no_checkpoint = xstrdup(why == NULL ? "the Lisp could not be copied" : why);
        if (cp != NULL)
            checkpoint_drop(cp);
    } else {
        if (cp != NULL && cp->name != NULL)
            drop_namesakes(s, cp);
        checkpoints_thin(&s->checkpoints, (size_t)limits_int(&s->limits, LIMIT_CHECKPOINTS));
    }
    if (s->current != NULL)
        session_deliver(s, s->current, &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = sexp_root(e->document)});
    sexp_document_free(e->document);
    enter_state(s, SESSION_IDLE, 0);
    proceed(s);
}

/* The process of now becomes a checkpoint as it is; it waits in the agent's loop like any other. */
static void retire(struct session *s)
{
    if (s->worker != NULL && worker_is_alive(s->worker)) {
        struct checkpoint *cp = checkpoints_add(&s->checkpoints, s->worker, s->at, session_package(s));
        struct worker_events events = checkpoint_events(cp);
        worker_set_events(s->worker, &events);
    } else {
        worker_free(s->worker);
    }
    s->worker = NULL;
}

/* ---- operations go ---- */

static void on_tick(uv_timer_t *timer)
{
    struct session *s = timer->data;
    struct operation *op = s->current;
    if (op != NULL && op->on_progress != NULL)
        op->on_progress(op->arg, (double)(uv_now(s->all->loop) - s->started_at) / 1000.0,
                        s->output[0].total + s->output[1].total, strbuf_string(&s->progress));
}

static void take_up(struct session *s, struct operation *op)
{
    s->current = op;
    s->stop = STOP_NONE;
    s->interrupts = 0;
    s->started_at = uv_now(s->all->loop);
    strbuf_clear(&s->progress);
    if (op->on_progress != NULL)
        uv_timer_start(s->ticker, on_tick, 1000, 1000);
}

static void run_current(struct session *s)
{
    struct operation *op = s->current;
    s->started_at = uv_now(s->all->loop);
    s->running_timeout_ms = op->timeout_ms > 0 ? op->timeout_ms : limits_timeout_ms(&s->limits);
    if (op->keeps_record && s->visitor == NULL)
        checkpoints_drop_after(&s->checkpoints, s->at);
    enter_state(s, SESSION_RUNNING, s->running_timeout_ms);
    worker_call(runner(s), &op->request, NULL, 0);
}

static struct error_record *find_error(struct session *s, int sequence)
{
    for (size_t i = 0; i < HISTORY; i++)
        if (s->history[i] != NULL && s->history[i]->sequence == sequence)
            return s->history[i];
    return NULL;
}

static void leave(struct session *s);

/* Make the copy in which the current operation is to run; it is the visitor. */
static void invite(struct session *s)
{
    struct operation *op = s->current;
    struct error_record *r = op->sequence == 0 ? NULL : find_error(s, op->sequence);
    struct worker *host = op->sequence == 0 ? s->worker : r == NULL ? NULL : r->frozen;
    struct worker_events events = process_events(s);
    events.on_gone = on_visitor_gone;
    struct err err;
    if (r != NULL && r->why_not_frozen != NULL)
        err_set(&err, ERR_GONE, "This error cannot be entered: %s", r->why_not_frozen);
    else
        err_set(&err, ERR_GONE, "This error cannot be entered any more; list-errors says which can.");
    s->awaited = NULL;
    if (host != NULL && worker_state(host) == WORKER_STARTING) {
        s->awaited = r; /* its hello is on the way */
        return;
    }
    if (host != NULL && worker_state(host) == WORKER_IDLE)
        s->visitor = fork_from(host, &events, &err);
    if (s->visitor != NULL)
        return;
    enter_state(s, SESSION_IDLE, 0);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = err.message});
    leave(s);
}

static void visit(struct session *s, struct operation *op)
{
    take_up(s, op);
    enter_state(s, SESSION_VISITING, VISIT_MS);
    invite(s);
}

static void action_answered(struct session *s, struct event *e)
{
    const char *why = is_reply(e->document, "refused") ? sexp_string(sexp_nth(sexp_root(e->document), 2), NULL) : NULL;
    if (why != NULL) {
        free(s->why_no_checkpoint);
        s->why_no_checkpoint = xstrdup(why);
    }
    sexp_document_free(e->document);
}

static void action_enter(struct session *s, struct event *e)
{
    (void)e;
    run_current(s);
}

void session_clear(struct session *s)
{
    session_forget_process(s);
    checkpoints_clear(&s->checkpoints);
    s->at = s->evaluations = 0;
    s->has_error = false;
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
}

static void perform_reset(struct session *s, struct operation *op)
{
    session_clear(s);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK});
}

/* An operation that nobody waits for leaves its failure to the next reply. */
static void refuse(struct session *s, struct operation *op, const char *why)
{
    if (op->done == NULL)
        strbuf_addf(&s->notice, "%s\n", why);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
}

/* Nothing is given up before the save has been found good; whether its image lives is seen when it is tried. */
static void perform_restore(struct session *s, struct operation *op)
{
    struct err err;
    struct saved saved;
    struct journal journal;
    journal_init(&journal);
    err_set(&err, ERR_INVALID, "Sessions cannot be restored: no directory for it (--state-dir).");
    if (s->all->store == NULL || !saved_find(s->all->store, op->name, zygote_lisp(s->all->zygote), &saved, &journal, &err)) {
        refuse(s, op, err.message);
        return;
    }
    session_clear(s);
    s->journal = journal;
    s->at = s->evaluations = saved.evaluations;
    s->package = xstrdup(saved.package);
    struct worker_events events = process_events(s);
    s->worker = zygote_start_image(s->all->zygote, saved.image, &events, &err);
    saved_fini(&saved);
    if (s->worker == NULL) {
        refuse(s, op, err.message);
        return;
    }
    take_up(s, op);
    s->is_restoring = s->is_returning = true;
    s->may_replay = false;
    s->died_at = s->best = s->at;
    strbuf_clear(&s->return_text);
    enter_state(s, SESSION_PROVING, START_MS);
}

/* The image of a saved session did not come to life: an empty session is left. */
static void restore_failed(struct session *s)
{
    struct operation *op = s->current;
    char name[80];
    snprintf(name, sizeof name, "%.79s", op->name);
    s->is_restoring = s->is_returning = false;
    session_clear(s);
    char why[256];
    snprintf(why, sizeof why, "The saved session %s could not be started: its image was perhaps written by another SBCL. The session is empty now.", name);
    refuse(s, op, why);
    proceed(s);
}

/* Where a roll-back is to go: a name, or -N: N evaluations back. */
static struct checkpoint *rollback_target(struct session *s, const char *to)
{
    struct checkpoint *cp = checkpoints_named(&s->checkpoints, to);
    char *end;
    long n = strtol(to, &end, 10);
    if (cp == NULL && *end == '\0' && end != to && n < 0)
        cp = checkpoints_newest(&s->checkpoints, (uint64_t)-n > s->at ? 0 : s->at - (uint64_t)-n);
    else if (cp == NULL && *end == '\0' && end != to && n >= 0) {
        cp = checkpoints_newest(&s->checkpoints, (uint64_t)n);
        if (cp != NULL && cp->evaluation != (uint64_t)n)
            cp = NULL;
    }
    return cp;
}

static void return_to(struct session *s, struct checkpoint *cp);

static void perform_rollback(struct session *s, struct operation *op)
{
    struct checkpoint *cp = rollback_target(s, op->name);
    if (cp == NULL) {
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = "There is no such checkpoint; list-checkpoints shows which there are."});
        return;
    }
    take_up(s, op);
    s->is_returning = true;
    s->was_idle = false;
    s->died_at = s->best = s->at;
    s->may_replay = false;
    strbuf_clear(&s->return_text);
    retire(s);
    return_to(s, cp);
}

/* In IDLE or ABSENT: do what is queued. In any other state the event that leads out of it comes back here. */
static void proceed(struct session *s)
{
    bool was_reset = false;
    if (s->is_delivering)
        return;
    while (!list_is_empty(&s->queue) && (s->state == SESSION_IDLE || s->state == SESSION_ABSENT)) {
        struct operation *op = list_entry(s->queue.next, struct operation, node);
        if (op->kind == OPERATION_RESET) {
            perform_reset(s, op);
            was_reset = true;
            continue;
        }
        if (op->kind == OPERATION_RESTORE) {
            perform_restore(s, op);
            continue;
        }
        if (s->state == SESSION_ABSENT) {
            request_process(s);
            return;
        }
        if (!worker_is_alive(s->worker))
            return; /* its end is being processed: GONE comes next and leads here again */
        if (op->kind == OPERATION_LOOK || op->kind == OPERATION_RESUME) {
            visit(s, op);
        } else if (op->kind == OPERATION_SAVE) {
            /* The answer to fork is waited for as for a checkpoint's. */
            if (saving_start(s, op))
                enter_state(s, SESSION_CHECKPOINTING, FREEZE_MS);
        } else if (op->kind == OPERATION_ROLLBACK) {
            perform_rollback(s, op);
        } else if (op->kind == OPERATION_CHECKPOINT) {
            take_up(s, op);
            make_checkpoint(s, op->name);
            if (s->state != SESSION_CHECKPOINTING)
                session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = s->why_no_checkpoint});
        } else {
            take_up(s, op);
            run_current(s);
        }
    }
    if (was_reset && s->state == SESSION_ABSENT)
        request_process(s); /* so that the next call finds it ready */
}

/* ---- actions ---- */

static void action_ignore(struct session *s, struct event *e)
{
    (void)s;
    (void)e;
}

static void action_start(struct session *s, struct event *e)
{
    (void)e;
    proceed(s);
}

static void returned(struct session *s);

static void action_begin(struct session *s, struct event *e)
{
    if (e->kind == EVENT_READY) {
        s->start_attempts = 0;
        zygote_disown(s->all->zygote, s->worker);
        enter_state(s, SESSION_IDLE, 0);
        const char *notices = zygote_notices(s->all->zygote);
        if (s->evaluations == 0 && notices[0] != '\0' && s->notice.len == 0)
            strbuf_adds(&s->notice, notices);
        if (s->is_returning) {
            returned(s);
            return;
        }
    }
    proceed(s);
}

static void bury(struct session *s);

static void action_give_up(struct session *s, struct event *e)
{
    (void)e;
    session_forget_process(s);
    s->start_attempts = 0;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
    if (s->is_returning) {
        strbuf_addf(&s->return_text, " It could not be started again: %s", why);
        bury(s);
    }
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
    free(why);
    if (!list_is_empty(&s->queue))
        session_later(s);
}

static void action_start_again(struct session *s, struct event *e)
{
    session_forget_process(s);
    if (++s->start_attempts < START_ATTEMPTS) {
        request_process(s);
        return;
    }
    const char *why = zygote_why(s->all->zygote);
    free(s->why);
    s->why = xstrdup(why[0] != '\0' ? why : "The session's process ended before it was ready.");
    action_give_up(s, e);
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
    deliver_error(s, op, r);
    return true;
}

/* Its end, which follows, leads to start_again. */
static void action_cut_short(struct session *s, struct event *e)
{
    (void)e;
    worker_kill(s->worker);
}

/* The visitor is done for; what became of the session's own process meanwhile is looked at now. */
static void leave(struct session *s)
{
    worker_free(s->visitor);
    s->visitor = NULL;
    enter_state(s, SESSION_IDLE, 0);
    if (worker_state(s->worker) == WORKER_GONE)
        session_happen(s, &(struct event){.kind = EVENT_GONE, .end = &(struct child_end){0}});
    else
        proceed(s);
}

/* What runs in the copy of a frozen error went through: the copy is the process now, and the one of before a checkpoint. */
static void move_in(struct session *s)
{
    retire(s);
    s->worker = s->visitor;
    s->visitor = NULL;
    struct worker_events events = process_events(s);
    worker_set_events(s->worker, &events);
}

static void action_finish(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    struct operation *op = s->current;
    bool ok = is_reply(e->document, "ok");
    bool is_evaluation = op->keeps_record && ok;
    bool is_visit = s->visitor != NULL;
    /* Not idle until the answer is out: what a done submits waits for what follows here. */
    uv_timer_stop(s->timer);
    if (is_visit && is_evaluation && op->kind == OPERATION_RESUME)
        move_in(s);
    if (s->visitor == NULL)
        remember_package(s, reply);
    if (is_evaluation) {
        s->has_error = false;
        s->is_unproven = false;
        write_journal(s, op, JOURNAL_OK);
        s->at = s->evaluations;
    }
    struct error_record *examined = ok && op->is_examination ? find_error(s, op->sequence) : NULL;
    if (examined != NULL && examined->details == NULL) {
        examined->details = e->document;
        e->document = NULL;
    }
    session_deliver(s, op, &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
    if (s->visitor != NULL) {
        leave(s);
    } else if (is_evaluation) {
        keep_state(s);
    } else {
        enter_state(s, SESSION_IDLE, 0);
        proceed(s);
    }
}

static void word_stop(struct session *s, struct error_record *r, bool was_killed);

/* A visitor's failure: what ran there to resume stays where it stands, as a frozen error of its own. */
static void visitor_failed(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_inside = sexp_count(sexp_get(r->condition, 2, "restarts")) > 0; /* not after a second interrupt */
    if (op->kind == OPERATION_RESUME && is_inside) {
        r->frozen = s->visitor;
        s->visitor = NULL;
        struct worker_events events = record_events(r);
        worker_set_events(r->frozen, &events);
    }
    if (s->stop != STOP_NONE)
        word_stop(s, r, false);
    write_journal(s, op, JOURNAL_ERROR);
    r->evaluation = s->evaluations; /* what was defined until now has been evaluated in it */
    deliver_error(s, op, r);
    leave(s);
}

static void action_freeze(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    r->session = s;
    if (s->visitor != NULL) {
        visitor_failed(s, op, r);
        return;
    }
    remember_package(s, r->condition);
    bool is_stopped = s->stop != STOP_NONE && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt");
    write_journal(s, op, is_stopped ? JOURNAL_STOPPED : JOURNAL_ERROR);
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
        deliver_error(s, op, r);
    struct err err;
    struct worker_events events = record_events(r);
    if (is_enterable && worker_is_alive(s->worker))
        r->frozen = fork_from(s->worker, &events, &err);
    if (is_enterable && r->frozen != NULL) {
        enter_state(s, SESSION_FREEZING, FREEZE_MS);
    } else {
        enter_state(s, SESSION_ABORTING, ABORT_MS);
        call(s, ":abort");
    }
}

static int time_to_unwind(const struct session *s)
{
    if (s->held == NULL)
        return ABORT_MS;
    uint64_t now = uv_now(s->all->loop);
    int left = s->kill_at > now ? (int)(s->kill_at - now) : 0;
    return left < 100 ? 100 : left > RUNG_MS ? RUNG_MS : left;
}

static void action_frozen(struct session *s, struct event *e)
{
    bool ok = is_reply(e->document, "ok");
    if (!ok && s->examined != NULL) {
        const char *why = sexp_string(sexp_nth(sexp_root(e->document), 2), NULL);
        s->examined->why_not_frozen = xstrdup(why == NULL ? "the Lisp could not be copied" : why);
        error_record_thaw(s->examined);
        char request[64];
        snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
        enter_state(s, SESSION_EXAMINING, EXAMINE_MS);
        call(s, request);
    } else {
        enter_state(s, SESSION_ABORTING, time_to_unwind(s));
        call(s, ":abort");
    }
    sexp_document_free(e->document);
}

static void action_interrupt(struct session *s, struct event *e)
{
    s->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    s->interrupts = 1;
    s->kill_at = uv_now(s->all->loop) + 2 * RUNG_MS;
    enter_state(s, SESSION_INTERRUPTING, RUNG_MS);
    worker_interrupt(runner(s));
}

static void action_insist(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    enter_state(s, SESSION_INSISTING, RUNG_MS);
    worker_interrupt(runner(s));
}

static void action_kill(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    if (runner(s) == NULL) {
        /* PROVING, and the checkpoint has not even made a copy. */
        if (s->source != NULL)
            checkpoint_drop(s->source);
        s->source = NULL;
        go_back(s);
        return;
    }
    if (s->awaited != NULL) {
        /* VISITING, and the frozen process does not come up: it is of no use. */
        error_record_thaw(s->awaited);
        invite(s);
        return;
    }
    enter_state(s, SESSION_KILLING, 0);
    worker_kill(runner(s)); /* GONE may have happened when this returns, if the process has no number yet */
}

static void action_abort(struct session *s, struct event *e)
{
    if (s->examined != NULL && is_reply(e->document, "ok"))
        s->examined->details = e->document;
    else
        sexp_document_free(e->document);
    enter_state(s, SESSION_ABORTING, time_to_unwind(s));
    call(s, ":abort");
}

static void action_hurry(struct session *s, struct event *e)
{
    (void)e;
    enter_state(s, SESSION_HURRYING, RUNG_MS);
    worker_interrupt(s->worker);
}

static void action_force(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    enter_state(s, SESSION_FORCING, RUNG_MS);
    worker_interrupt(s->worker);
}

/* "2", "0.5", "30": without the zeros of a fixed format. */
static const char *seconds(int ms, char *out, size_t size)
{
    snprintf(out, size, "%.10g", ms / 1000.0);
    return out;
}

/* The words of a stopped operation: what stopped it, which step of the ladder worked, what to do about it. */
static void word_stop(struct session *s, struct error_record *r, bool was_killed)
{
    char number[32];
    struct strbuf b;
    strbuf_init(&b, 0);
    free(r->type);
    r->type = xstrdup(s->stop == STOP_TIMEOUT ? "TIMEOUT" : "CANCELLED");
    if (s->stop == STOP_TIMEOUT)
        strbuf_addf(&b, "The evaluation was stopped at its time limit of %s s.", seconds(s->running_timeout_ms, number, sizeof number));
    else
        strbuf_addf(&b, "The evaluation was cancelled after %s s.", seconds((int)(uv_now(s->all->loop) - s->started_at), number, sizeof number));
    if (was_killed)
        strbuf_adds(&b, " It did not give way to two interrupts, so its process was killed.");
    else if (s->interrupts > 1)
        strbuf_adds(&b, " It gave way to the second interrupt; the session is intact.");
    else
        strbuf_adds(&b, " It was interrupted where it was; the session is intact.");
    if (s->stop == STOP_TIMEOUT) {
        strbuf_adds(&b, "\nFor more time give this call a longer timeout, or set one for the session with configure-limits.");
        if (r->frozen != NULL)
            strbuf_adds(&b, "\ninvoke-restart CONTINUE goes on from where it was stopped.");
    }
    free(r->message);
    r->message = strbuf_steal(&b, NULL);
}

static void action_settle(struct session *s, struct event *e)
{
    if (e->document != NULL)
        remember_package(s, sexp_root(e->document));
    sexp_document_free(e->document);
    struct error_record *held = s->held;
    struct operation *op = s->current;
    bool is_evaluation = held != NULL ? op->keeps_record : s->examined != NULL;
    s->held = NULL;
    s->examined = NULL;
    if (held != NULL) {
        word_stop(s, held, false);
        deliver_error(s, op, held);
    }
    if (is_evaluation) {
        keep_state(s);
    } else {
        enter_state(s, SESSION_IDLE, 0);
        proceed(s);
    }
}

static void action_discard(struct session *s, struct event *e)
{
    (void)s;
    sexp_document_free(e->document);
}

/* ---- death and return ---- */

static bool is_storage_death(const char *text)
{
    static const char *const marks[] = {"Heap exhausted", "heap exhausted", "Control stack exhausted", "Binding stack exhausted", "Alien stack exhausted", "out of memory"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (strstr(text, marks[i]) != NULL)
            return true;
    return false;
}

static void describe_end(const struct child_end *end, struct strbuf *out)
{
    if (!end->is_known)
        strbuf_adds(out, "The Lisp process ended; how is not known.");
    else if (end->signal != 0)
        strbuf_addf(out, "The Lisp process was killed by signal %d (%s).", end->signal, strsignal(end->signal));
    else
        strbuf_addf(out, "The Lisp process exited with code %d.", end->exit_code);
}

/* Up to 64 KiB of the end of what the process printed on descriptor 2, where SBCL writes its last words. */
static char *last_words(const struct capture *c)
{
    size_t most = (size_t)64 << 10;
    char *text = xmalloc(most + 1);
    size_t n = capture_read(c, c->total > most ? c->total - most : 0, text, most);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

static struct error_record *record_of_death(struct session *s, const struct child_end *end)
{
    char *words = last_words(&s->output[WORKER_STDERR]);
    struct strbuf message;
    strbuf_init(&message, 0);
    const char *type = end->signal != 0 ? "PROCESS-KILLED" : "PROCESS-EXITED";
    if (is_storage_death(words)) {
        type = "STORAGE-CONDITION";
        strbuf_adds(&message, strstr(words, "ontrol stack") != NULL ? "Control stack exhausted. " : "Heap exhausted. ");
    }
    describe_end(end, &message);
    struct error_record *r = error_record_make(type, strbuf_string(&message), words);
    free(words);
    strbuf_fini(&message);
    if (s->stop != STOP_NONE && s->state == SESSION_KILLING) {
        if (s->held != NULL) {
            /* Where it was is worth more than the frames of nobody. */
            sexp_document_free(r->document);
            r->document = s->held->document;
            r->condition = s->held->condition;
            r->details = s->held->details;
            r->frozen = s->held->frozen;
            s->held->document = s->held->details = NULL;
            s->held->frozen = NULL;
            if (r->frozen != NULL) {
                struct worker_events events = record_events(r);
                worker_set_events(r->frozen, &events);
            }
        }
        word_stop(s, r, true);
    }
    r->session = s;
    return r;
}

/* Did it break, rather than end because it was told to? SBCL's runtime exits by itself when it finds its heap damaged. */
static bool is_crash(struct session *s, const struct child_end *end)
{
    char *words = last_words(&s->output[WORKER_STDERR]);
    bool is_lost = strstr(words, "fatal error encountered in SBCL") != NULL;
    free(words);
    return end->signal != 0 || is_lost;
}

static void visitor_died(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (s->state == SESSION_VISITING) {
        const char *why = s->why_no_checkpoint != NULL ? s->why_no_checkpoint : "This needs a copy of the Lisp, which could not be made.";
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
        leave(s);
        return;
    }
    struct error_record *r = record_of_death(s, e->end);
    r->session_note = xstrdup(op->sequence == 0 ? "It died in a copy of the session, which itself is as it was." : "It died in a copy of the frozen error: the session and the frozen error are as they were.");
    write_journal(s, op, JOURNAL_DIED);
    deliver_error(s, op, r);
    leave(s);
}

static void ask_source(struct session *s)
{
    struct err err;
    struct worker_events events = process_events(s);
    s->worker = fork_from(s->source->worker, &events, &err);
    if (s->worker == NULL) {
        log_error("%s", err.message);
        s->source = NULL;
        go_back(s);
    }
}

static void return_to(struct session *s, struct checkpoint *cp)
{
    s->source = cp;
    s->at = cp->evaluation;
    free(s->package);
    s->package = xstrdup(cp->package);
    enter_state(s, SESSION_PROVING, PROVE_MS);
    if (worker_state(cp->worker) == WORKER_IDLE)
        ask_source(s);
    /* else its hello is on the way */
}

/* The process is gone or useless: to the newest checkpoint there is, or to the beginning. */
static void go_back(struct session *s)
{
    worker_free(s->worker);
    s->worker = NULL;
    struct checkpoint *cp = checkpoints_newest(&s->checkpoints, s->died_at);
    if (cp != NULL) {
        return_to(s, cp);
        return;
    }
    s->at = 0;
    free(s->package);
    s->package = NULL;
    session_forget_process(s);
    request_process(s);
}

static void action_mourn(struct session *s, struct event *e)
{
    if (e->is_visitor) {
        visitor_died(s, e);
        return;
    }
    if (s->making != NULL) {
        struct checkpoint *cp = s->making;
        s->making = NULL;
        checkpoint_drop(cp);
    }
    if (s->is_restoring) {
        restore_failed(s);
        return;
    }
    if (s->is_returning) {
        /* What was returned to does not live either. */
        struct checkpoint *cp = s->source;
        s->source = NULL;
        if (s->state == SESSION_REPLAYING || (cp == NULL && s->replay_next > 0))
            s->may_replay = false; /* it was not the state that died but what was done to it */
        else if (cp != NULL)
            checkpoint_drop(cp);
        if (s->state != SESSION_KILLING && e->end->signal == SIGKILL)
            lower_best(s);
        go_back(s);
        return;
    }
    struct operation *op = s->current;
    s->is_returning = true;
    s->was_idle = op == NULL;
    s->may_replay = true;
    s->replayed = s->replay_failed = 0;
    s->replay_next = 0;
    s->died_at = s->at;
    strbuf_clear(&s->return_text);
    bool is_suspect = false;
    if (op == NULL) {
        strbuf_adds(&s->return_text, s->state == SESSION_IDLE || s->state == SESSION_CHECKPOINTING ? "Between two calls: " : "While the last failed call was being unwound: ");
        describe_end(e->end, &s->return_text);
        strbuf_addc(&s->return_text, ' ');
        s->examined = NULL;
    } else {
        s->obituary = record_of_death(s, e->end);
        if (s->held != NULL)
            s->died_at = s->at_before; /* it is in the journal already, as stopped */
        else
            write_journal(s, op, JOURNAL_DIED);
        error_record_free(s->held);
        s->held = NULL;
        s->examined = NULL;
        /* The first evaluation in a state that was returned to, killed by a signal, and not the one that died before: the state itself is suspect. */
        is_suspect = s->is_unproven && is_crash(s, e->end) && s->stop == STOP_NONE && op->has_code && (s->killer == NULL || strcmp(s->killer, strbuf_string(&op->code)) != 0);
        free(s->killer);
        s->killer = xstrdup(strbuf_string(&op->code));
    }
    struct checkpoint *newest = checkpoints_newest(&s->checkpoints, s->died_at);
    s->best = newest == NULL ? 0 : newest->evaluation;
    if (is_suspect && newest != NULL && newest->evaluation == s->at)
        checkpoint_drop(newest);
    go_back(s);
}

static void action_prove(struct session *s, struct event *e)
{
    (void)e;
    struct strbuf request;
    strbuf_init(&request, 0);
    if (s->is_restoring)
        zygote_configure_request(s->all->zygote, &request);
    else
        sexp_write_symbol(&request, "probe");
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

static void action_proven(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    s->source = NULL;
    enter_state(s, SESSION_IDLE, 0);
    returned(s);
}

/* Is this entry one that the state returned to does not hold and that no checkpoint ever held? */
static bool is_to_replay(const struct session *s, const struct journal_entry *entry)
{
    return !entry->is_undone && entry->evaluation > s->at && entry->evaluation <= s->died_at && (entry->outcome == JOURNAL_OK || entry->outcome == JOURNAL_ERROR);
}

/* The process lives. What no checkpoint held is evaluated again, as far as it defines something. */
static void returned(struct session *s)
{
    bool is_best = s->at == s->best || (s->best == 0 && s->at == 0);
    while (s->may_replay && is_best && s->replay_next < s->journal.count) {
        const struct journal_entry *entry = journal_at(&s->journal, s->replay_next++);
        if (!is_to_replay(s, entry))
            continue;
        struct strbuf request;
        strbuf_init(&request, 0);
        sexp_write_symbol(&request, "replay");
        sexp_write_symbol(&request, "code");
        sexp_write_string(&request, entry->code, entry->code_len);
        sexp_write_symbol(&request, "package");
        sexp_write_string(&request, entry->package, strlen(entry->package));
        enter_state(s, SESSION_REPLAYING, REPLAY_MS);
        worker_call(s->worker, &request, NULL, 0);
        strbuf_fini(&request);
        return;
    }
    bool was_restored = s->is_restoring;
    bury(s);
    if (was_restored && s->state == SESSION_IDLE)
        keep_state(s);
    else
        proceed(s);
}

static void action_replayed(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    int64_t n = sexp_integer(sexp_get(reply, 2, "evaluated"), 0);
    s->replayed += n > 0 ? (size_t)n : 0;
    int64_t failed = sexp_integer(sexp_get(reply, 2, "failed"), 0);
    s->replay_failed += !is_reply(e->document, "ok") ? 1 : failed > 0 ? (size_t)failed : 0;
    remember_package(s, reply);
    sexp_document_free(e->document);
    enter_state(s, SESSION_IDLE, 0);
    returned(s);
}

static bool is_undone_now(const struct session *s, const struct journal_entry *entry)
{
    return entry->evaluation > s->at && entry->evaluation <= s->died_at && !entry->is_undone && entry->outcome != JOURNAL_DIED;
}

/* The newest are told; the older ones counted. */
static void add_undone(struct session *s, struct strbuf *out, const char *heading)
{
    size_t left = 0;
    for (size_t i = 0; i < s->journal.count; i++)
        left += is_undone_now(s, journal_at(&s->journal, i));
    if (left == 0)
        return;
    strbuf_adds(out, heading);
    if (left > UNDONE_SHOWN)
        strbuf_addf(out, "\n  %zu earlier ones, and", left - UNDONE_SHOWN);
    for (size_t i = 0; i < s->journal.count; i++) {
        const struct journal_entry *entry = journal_at(&s->journal, i);
        if (!is_undone_now(s, entry) || left-- > UNDONE_SHOWN)
            continue;
        size_t line = strcspn(entry->code, "\n");
        size_t shown = utf8_floor(entry->code, line, line > 120 ? 120 : line);
        strbuf_addf(out, "\n  %llu: %.*s%s", (unsigned long long)entry->evaluation, (int)shown, entry->code, entry->code[shown] != '\0' ? " ..." : "");
    }
}

/* Say what the return came to, and answer the operation that died. */
static void bury(struct session *s)
{
    struct strbuf *out = &s->return_text;
    struct operation *op = s->current;
    bool is_complete = s->at == s->died_at;
    bool was_damaged = s->at < s->best;
    if (op != NULL && op->kind == OPERATION_RESTORE)
        strbuf_addf(out, "Restored session %s, the state after evaluation %llu.", op->name, (unsigned long long)s->at);
    else if (op != NULL && op->kind == OPERATION_ROLLBACK)
        strbuf_addf(out, "Returned to the state after evaluation %llu.", (unsigned long long)s->at);
    else if (is_complete)
        strbuf_addf(out, "The session goes on from the state before %s: definitions and variables are as they were.", s->was_idle ? "that" : "this evaluation");
    else if (was_damaged)
        strbuf_addf(out, "The states after that did not live, so the session goes on from the state after evaluation %llu.", (unsigned long long)s->at);
    else if (s->at > 0)
        strbuf_addf(out, "The session goes on from its last checkpoint, the state after evaluation %llu%s%s%s.", (unsigned long long)s->at,
                    s->why_no_checkpoint == NULL ? "" : " (later ones could not be made: ", s->why_no_checkpoint == NULL ? "" : s->why_no_checkpoint, s->why_no_checkpoint == NULL ? "" : ")");
    else
        strbuf_addf(out, "The session goes on in a fresh Lisp%s%s%s.", s->why_no_checkpoint == NULL ? "" : ", because no checkpoint could be made (",
                    s->why_no_checkpoint == NULL ? "" : s->why_no_checkpoint, s->why_no_checkpoint == NULL ? "" : ")");
    if (s->replayed > 0 || s->replay_failed > 0) {
        strbuf_adds(out, " From the journal ");
        text_add_count(out, s->replayed, "definition");
        strbuf_adds(out, s->replayed == 1 ? " was evaluated again" : " were evaluated again");
        if (s->replay_failed > 0)
            strbuf_addf(out, ", %zu of them failed", s->replay_failed);
        strbuf_adds(out, "; what other forms had done is lost.");
    }
    if (!is_complete)
        add_undone(s, out, s->replayed > 0 ? "\nEvaluated since that state:" : "\nUndone:");
    journal_undo_after(&s->journal, s->at);
    for (size_t i = 0; s->replayed > 0 && i < s->journal.count; i++) {
        /* What was evaluated again is the session's history still. */
        struct journal_entry *entry = journal_at(&s->journal, i);
        if (entry->evaluation > s->at && entry->evaluation <= s->died_at && entry->outcome != JOURNAL_DIED)
            entry->is_undone = false;
    }
    if (s->replayed > 0)
        s->at = s->died_at;
    bool was_restored = s->is_restoring;
    s->is_returning = s->is_restoring = false;
    s->is_unproven = !was_restored;
    struct error_record *r = s->obituary;
    s->obituary = NULL;
    if (op != NULL && was_restored) {
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK, .text = strbuf_string(out)});
    } else if (op != NULL && op->kind == OPERATION_ROLLBACK) {
        journal_redo_until(&s->journal, s->at);
        s->is_unproven = false;
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK, .text = strbuf_string(out)});
    } else if (op != NULL && r != NULL) {
        r->session_note = xstrdup(strbuf_string(out));
        if (op->done == NULL)
            strbuf_addf(&s->notice, "After a call that was cancelled: %s\n", strbuf_string(out));
        deliver_error(s, op, r);
    } else {
        error_record_free(r);
        strbuf_add(&s->notice, out->bytes, out->len);
        strbuf_addc(&s->notice, '\n');
    }
    strbuf_clear(out);
}

typedef void action(struct session *s, struct event *e);

static action *const actions[SESSION_ACTION_COUNT] = {
#define X(name) [ACTION_##name] = action_##name,
    SESSION_ACTIONS(X)
#undef X
};

void session_happen(struct session *s, struct event *event)
{
    actions[session_table[s->state][event->kind]](s, event);
}
