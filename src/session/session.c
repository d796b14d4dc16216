/*
 * The life of a session. What happens when is in session_states.c; here is what each action does.
 */
#include "session/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "lisp/worker.h"
#include "lisp/zygote.h"
#include "session/session_states.h"

#define HISTORY 32           /* errors kept */
#define KEPT 16              /* outputs kept for get-output */
#define RUNG_MS 1000         /* the ladder: interrupt, one rung, interrupt again, one rung, kill */
#define EXAMINE_MS 500       /* for reading locals after a failure */
#define ABORT_MS 2000        /* for the cleanup forms of a failed operation */
#define START_ATTEMPTS 3
#define MOST_SESSIONS 20000
#define FRAMES_EXAMINED 100  /* docs/agent-protocol.md section 4 */

struct operation {
    struct list node;
    struct session *session;
    bool is_reset;
    struct strbuf request;
    struct strbuf what;
    int timeout_ms;
    bool keeps_record;
    operation_done *done; /* NULL once cancelled */
    operation_progress *on_progress;
    void *arg;
};

enum stop_reason { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL };

struct kept {
    int ref;
    struct capture capture;
};

struct session {
    struct list node;
    struct sessions *all;
    char *name;
    enum session_state state;
    struct worker *worker; /* NULL in ABSENT, and in STARTING until the zygote made it */
    struct zygote_request request;
    bool is_requested; /* the zygote has our request */
    int start_attempts;
    struct list queue; /* of struct operation; the first one runs in the states from RUNNING on */
    struct operation *current; /* the one that runs; NULL once it was answered */
    uint64_t started_at;       /* loop time in ms when it was sent */
    int running_timeout_ms;
    enum stop_reason stop;
    int interrupts;
    struct error_record *held; /* its report waits until the unwinding has shown how it ends */
    struct error_record *examined; /* borrowed: the record whose frames are being looked at */
    struct capture output[2];
    struct capture between;
    struct strbuf notice;
    struct strbuf progress; /* last message from the agent */
    struct error_record *history[HISTORY]; /* newest at (errors - 1) % HISTORY */
    size_t errors;
    bool has_error; /* the newest is the last error still */
    struct kept kept[KEPT];
    int last_ref;
    struct limits limits;
    char *package;
    uint64_t created_at;
    uint64_t evaluations;
    char *why; /* UNAVAILABLE */
    uv_timer_t *timer; /* the deadline of the state */
    uv_timer_t *later; /* what may not be done inside the caller's call */
    uv_timer_t *ticker;
};

struct sessions {
    uv_loop_t *loop;
    struct zygote *zygote;
    struct limits limits;
    struct list all;
    size_t count;
    unsigned long made;
};

struct event {
    enum session_event kind;
    struct sexp_document *document; /* OK, FAILED: given to the action */
    const struct child_end *end;    /* GONE */
};

static void happen(struct session *s, struct event *event);
static void proceed(struct session *s);

static uv_timer_t *new_timer(struct session *s)
{
    uv_timer_t *t = xcalloc(1, sizeof *t);
    CHECK(uv_timer_init(s->all->loop, t) == 0);
    t->data = s;
    return t;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void on_deadline(uv_timer_t *timer)
{
    happen(timer->data, &(struct event){.kind = EVENT_DEADLINE});
}

static void enter(struct session *s, enum session_state state, int deadline_ms)
{
    log_debug("session %s: %s -> %s", s->name, session_state_text(s->state), session_state_text(state));
    s->state = state;
    if (deadline_ms > 0)
        uv_timer_start(s->timer, on_deadline, (uint64_t)deadline_ms, 0);
    else
        uv_timer_stop(s->timer);
}

static void operation_free(struct operation *op)
{
    list_remove(&op->node);
    strbuf_fini(&op->request);
    strbuf_fini(&op->what);
    free(op);
}

/* Tell whoever asked, and forget the operation. */
static void deliver(struct session *s, struct operation *op, struct outcome *outcome)
{
    outcome->session = s;
    outcome->output[0] = &s->output[0];
    outcome->output[1] = &s->output[1];
    if (s->current == op) {
        s->current = NULL;
        uv_timer_stop(s->ticker);
    }
    list_remove(&op->node);
    if (op->done != NULL)
        op->done(op->arg, outcome);
    operation_free(op);
    capture_fini(&s->output[0]);
    capture_fini(&s->output[1]);
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

/* The record is the session's from here on. */
static void remember_error(struct session *s, struct error_record *r)
{
    struct error_record **slot = &s->history[s->errors % HISTORY];
    error_record_free(*slot);
    *slot = r;
    r->sequence = (int)++s->errors;
    s->has_error = true;
}

/* Deliver an error; a record that is not to be kept is freed, unless its frames are still to be looked at. */
static void deliver_error(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_kept = op->keeps_record;
    if (is_kept)
        remember_error(s, r);
    deliver(s, op, &(struct outcome){.kind = OUTCOME_ERROR, .error = r});
    if (!is_kept) {
        if (s->examined == r)
            s->examined = NULL;
        error_record_free(r);
    }
}

/* ---- the process comes ---- */

static void on_ready(void *arg, const struct sexp *hello)
{
    (void)hello;
    happen(arg, &(struct event){.kind = EVENT_READY});
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    bool failed = sexp_is_symbol(sexp_nth(sexp_root(reply), 1), "error");
    happen(arg, &(struct event){.kind = failed ? EVENT_FAILED : EVENT_OK, .document = reply});
}

static void on_worker_progress(void *arg, const struct sexp *event)
{
    struct session *s = arg;
    size_t len;
    const char *message = sexp_string(sexp_get(event, 2, "message"), &len);
    if (message == NULL || s->current == NULL)
        return;
    strbuf_clear(&s->progress);
    strbuf_add(&s->progress, message, len < 400 ? len : 400);
}

static void on_output(void *arg, enum worker_stream stream, const char *bytes, size_t len)
{
    struct session *s = arg;
    capture_add(s->current != NULL ? &s->output[stream] : &s->between, bytes, len);
}

static void on_gone(void *arg, const struct child_end *end)
{
    happen(arg, &(struct event){.kind = EVENT_GONE, .end = end});
}

static void on_worker(void *arg, struct worker *worker)
{
    struct session *s = arg;
    s->is_requested = false;
    s->worker = worker;
}

static void on_later(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (s->why != NULL)
        happen(s, &(struct event){.kind = EVENT_UNAVAILABLE});
    else if (s->state == SESSION_IDLE || s->state == SESSION_ABSENT)
        proceed(s);
}

/* May be said inside zygote_fork(), which may be inside the caller's session_run(): so it takes effect a moment later. */
static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    s->is_requested = false;
    free(s->why);
    s->why = xstrdup(err->message);
    uv_timer_start(s->later, on_later, 0, 0);
}

static void request_process(struct session *s)
{
    enter(s, SESSION_STARTING, 0);
    s->request = (struct zygote_request){
        .events = {.on_ready = on_ready, .on_reply = on_reply, .on_progress = on_worker_progress, .on_output = on_output, .on_gone = on_gone, .arg = s},
        .on_worker = on_worker,
        .on_failed = on_failed,
        .arg = s,
    };
    s->is_requested = true;
    zygote_set_heap(s->all->zygote, limits_int(&s->limits, LIMIT_MAX_HEAP));
    zygote_fork(s->all->zygote, &s->request);
}

static void forget_process(struct session *s)
{
    if (s->is_requested)
        zygote_fork_cancel(&s->request);
    s->is_requested = false;
    worker_free(s->worker);
    s->worker = NULL;
    s->examined = NULL;
    enter(s, SESSION_ABSENT, 0);
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

static void send_operation(struct session *s, struct operation *op)
{
    s->current = op;
    s->stop = STOP_NONE;
    s->interrupts = 0;
    s->started_at = uv_now(s->all->loop);
    s->running_timeout_ms = op->timeout_ms > 0 ? op->timeout_ms : limits_timeout_ms(&s->limits);
    strbuf_clear(&s->progress);
    enter(s, SESSION_RUNNING, s->running_timeout_ms);
    if (op->on_progress != NULL)
        uv_timer_start(s->ticker, on_tick, 1000, 1000);
    worker_call(s->worker, &op->request, NULL, 0);
}

static void perform_reset(struct session *s, struct operation *op)
{
    forget_process(s);
    s->has_error = false;
    for (size_t i = 0; i < HISTORY; i++) {
        error_record_free(s->history[i]);
        s->history[i] = NULL;
    }
    s->errors = 0;
    capture_fini(&s->between);
    strbuf_clear(&s->notice);
    free(s->package);
    s->package = NULL;
    s->start_attempts = 0;
    deliver(s, op, &(struct outcome){.kind = OUTCOME_OK});
}

/* In IDLE or ABSENT: do what is queued. In any other state the event that leads out of it comes back here. */
static void proceed(struct session *s)
{
    bool was_reset = false;
    while (!list_is_empty(&s->queue) && (s->state == SESSION_IDLE || s->state == SESSION_ABSENT)) {
        struct operation *op = list_entry(s->queue.next, struct operation, node);
        if (op->is_reset) {
            perform_reset(s, op);
            was_reset = true;
            continue;
        }
        if (s->state == SESSION_ABSENT)
            request_process(s);
        else if (worker_is_alive(s->worker))
            send_operation(s, op);
        /* else its end is being processed: GONE comes next and leads here again */
        return;
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

static void action_begin(struct session *s, struct event *e)
{
    if (e->kind == EVENT_READY) {
        s->start_attempts = 0;
        enter(s, SESSION_IDLE, 0);
        const char *notices = zygote_notices(s->all->zygote);
        if (s->evaluations == 0 && notices[0] != '\0' && s->notice.len == 0)
            strbuf_adds(&s->notice, notices);
    }
    proceed(s);
}

static void action_give_up(struct session *s, struct event *e)
{
    (void)e;
    forget_process(s);
    s->start_attempts = 0;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
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
        deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
    }
    free(why);
    if (!list_is_empty(&s->queue))
        uv_timer_start(s->later, on_later, 0, 0);
}

static void action_start_again(struct session *s, struct event *e)
{
    forget_process(s);
    if (++s->start_attempts < START_ATTEMPTS) {
        request_process(s);
        return;
    }
    const char *why = zygote_why(s->all->zygote);
    free(s->why);
    s->why = xstrdup(why[0] != '\0' ? why : "The session's process ended before it was ready.");
    action_give_up(s, e);
}

static void action_finish(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    struct operation *op = s->current;
    enter(s, SESSION_IDLE, 0);
    remember_package(s, reply);
    bool ok = sexp_is_symbol(sexp_nth(reply, 1), "ok");
    if (ok && op->keeps_record) {
        s->has_error = false;
        s->evaluations++;
    }
    deliver(s, op, &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
    proceed(s);
}

static void call(struct session *s, const char *request)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    strbuf_adds(&b, request);
    worker_call(s->worker, &b, NULL, 0);
    strbuf_fini(&b);
}

static void action_examine(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    remember_package(s, r->condition);
    s->evaluations += op->keeps_record;
    s->examined = r;
    /* How a stopped operation ended is known only when it has been unwound; everything else is reported at once. */
    if (s->stop != STOP_NONE && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt"))
        s->held = r;
    else
        deliver_error(s, op, r);
    char request[64];
    snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
    enter(s, SESSION_EXAMINING, EXAMINE_MS);
    call(s, request);
}

static void action_interrupt(struct session *s, struct event *e)
{
    s->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    s->interrupts = 1;
    enter(s, SESSION_INTERRUPTING, RUNG_MS);
    worker_interrupt(s->worker);
}

static void action_insist(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    enter(s, SESSION_INSISTING, RUNG_MS);
    worker_interrupt(s->worker);
}

static void action_kill(struct session *s, struct event *e)
{
    (void)e;
    enter(s, SESSION_KILLING, 0);
    worker_kill(s->worker);
}

static void action_abort(struct session *s, struct event *e)
{
    if (e->kind == EVENT_OK && s->examined != NULL && sexp_is_symbol(sexp_nth(sexp_root(e->document), 1), "ok"))
        s->examined->details = e->document;
    else
        sexp_document_free(e->document);
    s->examined = NULL;
    enter(s, SESSION_ABORTING, s->held != NULL ? RUNG_MS : ABORT_MS);
    call(s, ":abort");
}

static void action_hurry(struct session *s, struct event *e)
{
    (void)e;
    enter(s, SESSION_HURRYING, RUNG_MS);
    worker_interrupt(s->worker);
}

static void action_force(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    enter(s, SESSION_FORCING, RUNG_MS);
    worker_interrupt(s->worker);
}

/* "2", "0.5", "30": without the zeros of a fixed format. */
static const char *seconds(int ms, char *out, size_t size)
{
    snprintf(out, size, "%.10g", ms / 1000.0);
    return out;
}

#define LOST "Its definitions, variables and loaded systems are gone; the session goes on in a fresh Lisp."

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
    if (s->stop == STOP_TIMEOUT)
        strbuf_adds(&b, "\nFor more time give this call a longer timeout, or set one for the session with configure-limits.");
    free(r->message);
    r->message = strbuf_steal(&b, NULL);
}

static void action_settle(struct session *s, struct event *e)
{
    if (e->document != NULL)
        remember_package(s, sexp_root(e->document));
    sexp_document_free(e->document);
    struct error_record *held = s->held;
    s->held = NULL;
    enter(s, SESSION_IDLE, 0);
    if (held != NULL) {
        word_stop(s, held, false);
        deliver_error(s, s->current, held);
    }
    proceed(s);
}

static void action_discard(struct session *s, struct event *e)
{
    (void)s;
    sexp_document_free(e->document);
}

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
        word_stop(s, r, true);
        if (s->held != NULL) {
            /* Where it was is worth more than the frames of nobody. */
            sexp_document_free(r->document);
            r->document = s->held->document;
            r->condition = s->held->condition;
            r->details = s->held->details;
            s->held->document = s->held->details = NULL;
        }
    }
    r->session_note = xstrdup(LOST);
    return r;
}

static void action_notice(struct session *s, struct event *e)
{
    strbuf_adds(&s->notice, s->state == SESSION_IDLE ? "Between two calls: " : "While the last failed call was being unwound: ");
    describe_end(e->end, &s->notice);
    strbuf_adds(&s->notice, " " LOST "\n");
    free(s->package);
    s->package = NULL;
    forget_process(s);
    proceed(s);
}

static void action_mourn(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (op == NULL) {
        action_notice(s, e);
        return;
    }
    struct error_record *r = record_of_death(s, e->end);
    error_record_free(s->held);
    s->held = NULL;
    free(s->package);
    s->package = NULL;
    forget_process(s);
    s->evaluations += op->keeps_record;
    deliver_error(s, op, r);
    proceed(s);
}

typedef void action(struct session *s, struct event *e);

static action *const actions[SESSION_ACTION_COUNT] = {
#define X(name) [ACTION_##name] = action_##name,
    SESSION_ACTIONS(X)
#undef X
};

static void happen(struct session *s, struct event *event)
{
    actions[session_table[s->state][event->kind]](s, event);
}

/* ---- the public face ---- */

static struct operation *submit(struct session *s, struct operation *op)
{
    op->session = s;
    list_init(&op->node);
    list_append(&s->queue, &op->node);
    return op;
}

struct operation *session_run(struct session *s, const struct operation_options *options)
{
    struct operation *op = xcalloc(1, sizeof *op);
    strbuf_init(&op->request, 0);
    strbuf_add(&op->request, options->request->bytes, options->request->len);
    strbuf_init(&op->what, 200);
    if (options->what != NULL)
        strbuf_add(&op->what, options->what, strnlen(options->what, 200));
    op->timeout_ms = options->timeout_ms;
    op->keeps_record = options->keeps_record;
    op->done = options->done;
    op->on_progress = options->on_progress;
    op->arg = options->arg;
    submit(s, op);
    happen(s, &(struct event){.kind = EVENT_SUBMITTED});
    return op;
}

struct operation *session_reset(struct session *s, operation_done *done, void *arg)
{
    struct operation *op = xcalloc(1, sizeof *op);
    strbuf_init(&op->request, 0);
    strbuf_init(&op->what, 0);
    op->is_reset = true;
    op->done = done;
    op->arg = arg;
    submit(s, op);
    if (s->state == SESSION_IDLE || s->state == SESSION_ABSENT)
        uv_timer_start(s->later, on_later, 0, 0);
    return op;
}

void session_cancel(struct operation *op)
{
    struct session *s = op->session;
    op->done = NULL;
    op->on_progress = NULL;
    if (op != s->current)
        operation_free(op);
    else
        happen(s, &(struct event){.kind = EVENT_CANCEL});
}

bool session_stop(struct session *s, struct strbuf *what)
{
    if (s->current == NULL)
        return false;
    strbuf_add(what, s->current->what.bytes, s->current->what.len);
    happen(s, &(struct event){.kind = EVENT_CANCEL});
    return true;
}

const struct error_record *session_error(const struct session *s, size_t n)
{
    return n < s->errors && n < HISTORY ? s->history[(s->errors - 1 - n) % HISTORY] : NULL;
}

const struct error_record *session_last_error(const struct session *s)
{
    return s->has_error ? session_error(s, 0) : NULL;
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
    return session_state_text(s->state);
}

double session_age_s(const struct session *s)
{
    return (double)(uv_now(s->all->loop) - s->created_at) / 1000.0;
}

uint64_t session_evaluations(const struct session *s)
{
    return s->evaluations;
}

struct sessions *sessions_new(void *loop, struct zygote *zygote, const struct limits *limits)
{
    struct sessions *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    all->zygote = zygote;
    all->limits = *limits;
    list_init(&all->all);
    return all;
}

void sessions_free(struct sessions *all)
{
    if (all == NULL)
        return;
    while (!list_is_empty(&all->all))
        sessions_close(list_entry(all->all.next, struct session, node));
    free(all);
}

struct session *sessions_find(struct sessions *all, const char *name)
{
    struct list *node, *next;
    list_for_each(node, next, &all->all)
    {
        struct session *s = list_entry(node, struct session, node);
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

struct session *sessions_create(struct sessions *all, const char *name, struct err *err)
{
    char made_up[32];
    if (name == NULL) {
        do
            snprintf(made_up, sizeof made_up, "s%lu", ++all->made);
        while (sessions_find(all, made_up) != NULL);
        name = made_up;
    }
    size_t len = strlen(name);
    if (len == 0 || len > 64 || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != len) {
        err_set(err, ERR_INVALID, "A session's name has 1 to 64 characters from A-Z a-z 0-9 . _ and -.");
        return NULL;
    }
    if (sessions_find(all, name) != NULL) {
        err_set(err, ERR_BUSY, "There is a session named %s already.", name);
        return NULL;
    }
    if (all->count >= MOST_SESSIONS) {
        err_set(err, ERR_LIMIT, "There are %d sessions already; close-session ends one.", MOST_SESSIONS);
        return NULL;
    }
    struct session *s = xcalloc(1, sizeof *s);
    s->all = all;
    s->name = xstrdup(name);
    s->limits = all->limits;
    s->created_at = uv_now(all->loop);
    list_init(&s->queue);
    list_init(&s->request.node);
    capture_init(&s->output[0]);
    capture_init(&s->output[1]);
    capture_init(&s->between);
    for (size_t i = 0; i < KEPT; i++)
        capture_init(&s->kept[i].capture);
    strbuf_init(&s->notice, (size_t)64 << 10);
    strbuf_init(&s->progress, 500);
    s->timer = new_timer(s);
    s->later = new_timer(s);
    s->ticker = new_timer(s);
    list_init(&s->node);
    list_append(&all->all, &s->node);
    all->count++;
    return s;
}

void sessions_close(struct session *s)
{
    list_remove(&s->node);
    s->all->count--;
    forget_process(s);
    while (!list_is_empty(&s->queue)) {
        struct operation *op = list_entry(s->queue.next, struct operation, node);
        deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = "The session was closed."});
    }
    uv_close((uv_handle_t *)s->timer, free_handle);
    uv_close((uv_handle_t *)s->later, free_handle);
    uv_close((uv_handle_t *)s->ticker, free_handle);
    error_record_free(s->held);
    for (size_t i = 0; i < HISTORY; i++)
        error_record_free(s->history[i]);
    for (size_t i = 0; i < KEPT; i++)
        capture_fini(&s->kept[i].capture);
    capture_fini(&s->output[0]);
    capture_fini(&s->output[1]);
    capture_fini(&s->between);
    strbuf_fini(&s->notice);
    strbuf_fini(&s->progress);
    free(s->name);
    free(s->package);
    free(s->why);
    free(s);
}

struct session *sessions_at(struct sessions *all, size_t n)
{
    struct list *node, *next;
    list_for_each(node, next, &all->all)
    {
        if (n-- == 0)
            return list_entry(node, struct session, node);
    }
    return NULL;
}

size_t sessions_count(const struct sessions *all)
{
    return all->count;
}
