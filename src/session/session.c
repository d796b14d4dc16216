/*
 * The public face of a session. Its life is in session_machine.c, the collections it is found in are in
 * sessions.c.
 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/session_internal.h"

static void operation_free(struct operation *op)
{
    list_remove(&op->node);
    strbuf_fini(&op->request);
    strbuf_fini(&op->what);
    strbuf_fini(&op->code);
    free(op->package);
    free(op->name);
    free(op);
}

void session_deliver(struct session *s, struct operation *op, struct outcome *outcome)
{
    outcome->session = s;
    outcome->output[0] = &s->output[0];
    outcome->output[1] = &s->output[1];
    bool was_current = s->current == op;
    if (was_current) {
        s->current = NULL;
        s->answered_at_ns = uv_hrtime();
        uv_timer_stop(s->ticker);
    }
    list_remove(&op->node);
    /* What a done asks for next waits until whoever delivers has brought the session to rest. */
    s->is_delivering = true;
    if (op->done != NULL)
        op->done(op->arg, outcome);
    s->is_delivering = false;
    operation_free(op);
    /* A save that ends while another operation runs must not take that one's output. */
    if (was_current) {
        capture_fini(&s->output[0]);
        capture_fini(&s->output[1]);
    }
}

static struct operation *new_operation(struct session *s, enum operation_kind kind, operation_done *done,
                                       void *arg)
{
    struct operation *op = xcalloc(1, sizeof *op);
    op->session = s;
    op->kind = kind;
    op->done = done;
    op->arg = arg;
    strbuf_init(&op->request, 0);
    strbuf_init(&op->what, 200);
    strbuf_init(&op->code, 0);
    list_init(&op->node);
    list_append(&s->queue, &op->node);
    s->uses++;
    session_count(s, METRIC_OPERATIONS);
    return op;
}

static struct operation *new_run(struct session *s, enum operation_kind kind,
                                 const struct operation_options *options)
{
    struct operation *op = new_operation(s, kind, options->done, options->arg);
    strbuf_add(&op->request, options->request->bytes, options->request->len);
    size_t what_len = options->what == NULL ? 0 : strlen(options->what);
    if (what_len > 0)
        strbuf_add(&op->what, options->what,
                   utf8_floor(options->what, what_len, what_len > 200 ? 200 : what_len));
    op->has_code = options->code != NULL;
    if (op->has_code)
        strbuf_add(&op->code, options->code, options->code_len);
    op->package = xstrdup(options->package);
    op->timeout_ms = options->timeout_ms;
    op->keeps_record = options->keeps_record;
    op->goes_on = options->goes_on;
    op->is_examination = options->is_examination;
    op->on_progress = options->on_progress;
    return op;
}

struct operation *session_run(struct session *s, const struct operation_options *options)
{
    struct operation *op = new_run(s, OPERATION_RUN, options);
    session_dispatch(s, &(struct event){.kind = EVENT_SUBMITTED});
    return op;
}

/* These may be answered as soon as their turn comes, which must not be inside the caller's call. */
static struct operation *later(struct operation *op)
{
    session_later(op->session);
    return op;
}

struct operation *session_enter(struct session *s, const struct operation_options *options, int sequence,
                                bool resumes)
{
    struct operation *op = new_run(s, resumes ? OPERATION_RESUME : OPERATION_LOOK, options);
    op->sequence = sequence;
    const struct error_record *r = sequence == 0 ? NULL : session_find_error(s, sequence);
    if (r != NULL && error_record_stands(r)) {
        /* It is entered where it stands, and no copy of it. */
        op->kind = OPERATION_RUN;
        sexp_write_symbol(&op->request, "standing");
        sexp_write_integer(&op->request, r->standing);
    }
    return later(op);
}

struct operation *session_reset(struct session *s, operation_done *done, void *arg)
{
    return later(new_operation(s, OPERATION_RESET, done, arg));
}

struct operation *session_checkpoint(struct session *s, const char *name, operation_done *done, void *arg)
{
    struct operation *op = new_operation(s, OPERATION_CHECKPOINT, done, arg);
    op->name = xstrdup(name);
    return later(op);
}

struct operation *session_rollback(struct session *s, const char *to, operation_done *done, void *arg)
{
    struct operation *op = new_operation(s, OPERATION_ROLLBACK, done, arg);
    op->name = xstrdup(to);
    return later(op);
}

struct operation *session_save(struct session *s, operation_done *done, void *arg)
{
    return later(new_operation(s, OPERATION_SAVE, done, arg));
}

struct operation *session_restore(struct session *s, const char *name, operation_done *done, void *arg)
{
    struct operation *op = new_operation(s, OPERATION_RESTORE, done, arg);
    op->name = xstrdup(name);
    return later(op);
}

void session_cancel(struct operation *op)
{
    struct session *s = op->session;
    op->done = NULL;
    op->on_progress = NULL;
    if (op->saving != NULL) {
        saving_cancel(op->saving);
        operation_free(op);
        return;
    }
    if (op != s->current)
        operation_free(op);
    else
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

bool session_stop(struct session *s, struct strbuf *what)
{
    if (s->current == NULL)
        return session_drop_waiting(s, what);
    strbuf_add(what, s->current->what.bytes, s->current->what.len);
    session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
    return true;
}

double session_running(const struct session *s, struct strbuf *what, size_t *waiting)
{
    const struct operation *op = s->current;
    struct list *node, *next;
    *waiting = 0;
    list_for_each(node, next, &s->queue)
    {
        const struct operation *queued = list_entry(node, struct operation, node);
        /* While the process is being copied, the next one is as good as running. */
        if (op == NULL)
            op = queued;
        *waiting += queued != op;
    }
    if (op == NULL || !op->has_code)
        return -1;
    strbuf_add(what, op->what.bytes, op->what.len);
    return op == s->current ? (double)(uv_now(s->host->loop) - s->started_at) / 1000.0 : 0;
}

const struct error_record *session_error(const struct session *s, size_t n)
{
    return n < s->errors && n < HISTORY ? s->history[(s->errors - 1 - n) % HISTORY] : NULL;
}

const struct error_record *session_last_error(const struct session *s)
{
    /* Errors of the program's threads come in between. */
    for (size_t i = 0; s->has_error && i < session_error_count(s); i++)
        if (session_error(s, i)->thread == NULL)
            return session_error(s, i);
    return NULL;
}

size_t session_error_count(const struct session *s)
{
    return s->errors < HISTORY ? s->errors : HISTORY;
}

int session_next_ref(const struct session *s)
{
    return s->last_ref + 1;
}

int session_keep_output(struct session *s, struct capture *capture)
{
    struct kept *slot = &s->kept[++s->last_ref % KEPT];
    capture_fini(&slot->capture);
    capture_move(&slot->capture, capture);
    slot->ref = s->last_ref;
    return slot->ref;
}

const struct capture *session_kept(const struct session *s, int ref)
{
    if (ref <= 0 || s->kept[ref % KEPT].ref != ref)
        return NULL;
    return &s->kept[ref % KEPT].capture;
}

const struct checkpoints *session_checkpoints(struct session *s)
{
    session_thin_checkpoints(s);
    return &s->checkpoints;
}

const struct journal *session_journal(const struct session *s)
{
    return &s->journal;
}

const char *session_why_no_checkpoint(const struct session *s)
{
    return s->why_no_checkpoint;
}

uint64_t session_at(const struct session *s)
{
    return s->at;
}

bool session_is_unrestored(const struct session *s)
{
    return s->is_unrestored;
}

double session_checkpoint_cost_ms(const struct session *s)
{
    return s->fork_ms;
}

bool session_checkpoints_when_idle(const struct session *s)
{
    return s->fork_ms > COSTLY_MS;
}

struct capture *session_between(struct session *s)
{
    return &s->between;
}

struct strbuf *session_notice(struct session *s)
{
    return &s->notice;
}

struct limits *session_limits(struct session *s)
{
    return &s->limits;
}

const char *session_name(const struct session *s)
{
    return s->name;
}

const struct strbuf *session_tools(const struct session *s)
{
    return &s->tools;
}

const char *session_package(const struct session *s)
{
    return s->package == NULL ? "CL-USER" : s->package;
}

pid_t session_pid(const struct session *s)
{
    return s->worker == NULL ? 0 : worker_pid(s->worker);
}

const char *session_state_name(const struct session *s)
{
    bool is_between = s->state == SESSION_IDLE || s->state == SESSION_CHECKPOINTING;
    return is_between && !list_is_empty(&s->queue) ? session_state_text(SESSION_RUNNING)
                                                   : session_state_text(s->state);
}

double session_age_s(const struct session *s)
{
    return (double)(uv_now(s->host->loop) - s->created_at) / 1000.0;
}

uint64_t session_evaluations(const struct session *s)
{
    return s->evaluations;
}

static uv_timer_t *new_timer(struct session *s)
{
    uv_timer_t *t = xcalloc(1, sizeof *t);
    CHECK(uv_timer_init(s->host->loop, t) == 0);
    t->data = s;
    return t;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

struct session *session_new(struct sessions *all, const char *name)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->all = all;
    s->host = all->host;
    s->name = xstrdup(name);
    s->limits = s->host->limits;
    s->created_at = uv_now(s->host->loop);
    list_init(&s->queue);
    list_init(&s->request.node);
    list_init(&s->savings);
    list_init(&s->idle_node);
    capture_init(&s->output[0]);
    capture_init(&s->output[1]);
    capture_init(&s->between);
    for (size_t i = 0; i < KEPT; i++)
        capture_init(&s->kept[i].capture);
    strbuf_init(&s->notice, (size_t)64 << 10);
    strbuf_init(&s->progress, 500);
    strbuf_init(&s->return_text, (size_t)64 << 10);
    strbuf_init(&s->tools, MOST_TOOLS_TEXT);
    strbuf_init(&s->scratch_tools, MOST_TOOLS_TEXT);
    checkpoints_init(&s->checkpoints);
    journal_init(&s->journal);
    s->timer = new_timer(s);
    s->later = new_timer(s);
    s->ticker = new_timer(s);
    list_init(&s->node);
    session_count(s, METRIC_SESSIONS_CREATED);
    return s;
}

void session_free(struct session *s)
{
    savings_cancel(s);
    session_forget_process(s);
    session_forget_image(s);
    session_note_activity(s);
    checkpoints_clear(&s->checkpoints);
    while (!list_is_empty(&s->queue)) {
        struct operation *op = list_entry(s->queue.next, struct operation, node);
        session_deliver(s, op,
                        &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = "The session was closed."});
    }
    uv_close((uv_handle_t *)s->timer, free_handle);
    uv_close((uv_handle_t *)s->later, free_handle);
    uv_close((uv_handle_t *)s->ticker, free_handle);
    error_record_free(s->held);
    error_record_free(s->exit_record);
    journal_fini(&s->journal);
    strbuf_fini(&s->return_text);
    free(s->why_no_checkpoint);
    free(s->killer);
    for (size_t i = 0; i < HISTORY; i++)
        error_record_free(s->history[i]);
    for (size_t i = 0; i < KEPT; i++)
        capture_fini(&s->kept[i].capture);
    capture_fini(&s->output[0]);
    capture_fini(&s->output[1]);
    capture_fini(&s->between);
    strbuf_fini(&s->notice);
    strbuf_fini(&s->progress);
    strbuf_fini(&s->tools);
    strbuf_fini(&s->scratch_tools);
    free(s->name);
    free(s->package);
    free(s->why);
    free(s);
}
