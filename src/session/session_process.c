/*
 * A session's process: asked of the zygote, coming, telling things, and forgotten.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "session/session_internal.h"

#define START_ATTEMPTS 3

bool session_is_reply(const struct sexp_document *document, const char *kind)
{
    return document != NULL && sexp_is_symbol(sexp_nth(sexp_root(document), 1), kind);
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
    bool is_news =
        told->len != s->tools.len || (told->len > 0 && memcmp(told->bytes, s->tools.bytes, told->len) != 0);
    struct strbuf had = s->tools;
    s->tools = *told;
    strbuf_init(told, MOST_TOOLS_TEXT);
    strbuf_fini(&had);
    if (is_news)
        session_tell(s, SESSIONS_TOOLS);
}

void session_note_scratch_tools(struct session *s, const struct sexp *tools)
{
    write_tools(&s->scratch_tools, tools);
}

/* The scratch copy's events are the process's own, but for its replies and its end. */
static void on_ready(void *arg, const struct sexp *hello)
{
    struct session *s = arg;
    const struct sexp *tools = sexp_get(hello, 2, "tools");
    if (s->scratch != NULL)
        session_note_scratch_tools(s, tools);
    else
        session_note_tools(s, tools);
    session_dispatch(s, &(struct event){.kind = EVENT_READY});
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    struct session *s = arg;
    /* While a scratch copy runs, the process can only be answering the request for that copy. */
    if (s->scratch != NULL) {
        session_action_answered(s, &(struct event){.kind = EVENT_COPIED, .document = reply});
        return;
    }
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        session_note_tools(s, tools);
    session_note_threads(s, sexp_root(reply));
    enum session_event kind = worker_has_copied(s->worker)       ? EVENT_COPIED
                              : session_is_reply(reply, "error") ? EVENT_FAILED
                                                                 : EVENT_OK;
    session_dispatch(s, &(struct event){.kind = kind, .document = reply});
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
    /* While a scratch copy runs, this waits until it has left (session_leave_scratch()). */
    if (s->scratch == NULL)
        session_dispatch(s, &(struct event){.kind = EVENT_GONE, .end = end});
}

struct worker_events session_process_events(struct session *s)
{
    return (struct worker_events){.on_ready = on_ready,
                                  .on_reply = on_reply,
                                  .on_progress = on_progress,
                                  .on_output = on_output,
                                  .on_gone = on_gone,
                                  .arg = s};
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
    session_set_deadline(s, s->host->waits.hello_ms);
}

/* May be said inside zygote_fork(), which may be inside the caller's session_run(): so it takes effect a
 * moment later. */
static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    if (err->code == ERR_LIMIT && session_evict_for_process(s)) {
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
    s->request = (struct zygote_request){.events = session_process_events(s),
                                         .on_worker = on_worker,
                                         .on_failed = on_failed,
                                         .arg = s,
                                         .heap_mib = s->heap_mib,
                                         .quota = &s->all->processes};
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
    worker_free(s->scratch);
    worker_free(s->worker);
    s->scratch = s->worker = NULL;
    s->examined = s->awaited = NULL;
    s->source = NULL;
    s->making = NULL;
    session_drop_ahead(s);
    s->owes_checkpoint = false;
    session_enter_state(s, SESSION_ABSENT, 0);
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

void session_action_give_up(struct session *s, struct event *e)
{
    (void)e;
    session_forget_process(s);
    s->start_attempts = 0;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
    if (s->is_returning) {
        strbuf_addf(&s->return_text, " It could not be started again: %s", why);
        session_finish_recovery(s);
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

/* Its end, which follows, leads to start_again. */
void session_action_cut_short(struct session *s, struct event *e)
{
    (void)e;
    worker_kill(s->worker);
}
