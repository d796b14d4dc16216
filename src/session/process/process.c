/*
 * Responsible for a session's process: its start, its messages and its end; and for the programs that it has
 * started. When a Lisp ends, these become children of the server. A mark in their environment identifies
 * their session. A program that clears its environment is not found, and ends with the server.
 */
#include "session/process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/user_directory.h"
#include "base/utf8.h"
#include "lisp/zygotes.h"
#include "proc/child.h"
#include "proc/control_groups.h"
#include "proc/orphans.h"
#include "proc/tree.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/process/hooks.h"
#include "session/process/joined.h"
#include "session/process/thread_errors.h"
#include "session/work/memory_watch.h"
#include "session/work/run.h"

#define START_ATTEMPTS 3
#define LONGEST_PROGRESS 400
#define LONGEST_TOOLS ((size_t)1 << 20) /* longer text is not a list of tools */
#define MOST_TASKS 4096                 /* of a session: processes and threads; --control-groups */

void process_read_tools(struct session *s, const struct sexp *tools)
{
    struct strbuf *text = &s->told.scratch_tools;
    strbuf_fini(text);
    strbuf_init(text, LONGEST_TOOLS);
    if (sexp_count(tools) > 0)
        sexp_write_value(text, tools);
    if (text->is_overflown) {
        log_warning("the code of session %s defines tools of more than %zu bytes; they are left out",
                    s->id.name, LONGEST_TOOLS);
        strbuf_clear(text);
    }
}

void process_take_tools(struct session *s)
{
    struct strbuf had = s->told.tools, *now = &s->told.scratch_tools;
    bool is_news = had.len != now->len || (had.len > 0 && memcmp(had.bytes, now->bytes, had.len) != 0);
    s->told.tools = *now;
    *now = (struct strbuf){0};
    strbuf_fini(&had);
    if (is_news)
        session_tell(s, SESSIONS_TOOLS);
}

void process_note_tools(struct session *s, const struct sexp *tools)
{
    process_read_tools(s, tools);
    process_take_tools(s);
}

/* A scratch copy has the same events as the process, except for replies and the end. */
static void on_ready(void *arg, const struct sexp *hello)
{
    struct session *s = arg;
    const struct sexp *tools = sexp_get(hello, 2, "tools");
    process_read_tools(s, tools);
    if (s->scratch == NULL)
        process_take_tools(s);
    session_dispatch(s, &(struct event){.kind = EVENT_READY});
}

/* The process has answered the request for the scratch copy. If the copy exists, its own end reports the
 * rest. */
static void note_refusal(struct session *s, struct sexp_document *reply)
{
    const char *why = sexp_string(sexp_nth(sexp_root(reply), 2), NULL);
    if (session_is_reply(reply, "refused") && why != NULL)
        xstrset(&s->copies.why_not, why);
    sexp_document_free(reply);
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    struct session *s = arg;
    /* While a scratch copy runs, the process can only be answering the request for that copy. */
    if (s->scratch != NULL) {
        note_refusal(s, reply);
        return;
    }
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        process_note_tools(s, tools);
    thread_errors_note(s, sexp_root(reply));
    hooks_note(s, sexp_root(reply));
    bool is_error = session_is_reply(reply, "error");
    session_dispatch(s, &(struct event){.kind = is_error ? EVENT_FAILED : EVENT_OK, .document = reply});
}

static void on_progress(void *arg, const struct sexp *event)
{
    size_t len;
    const char *message = sexp_string(sexp_get(event, 2, "message"), &len);
    if (message != NULL)
        run_note_progress(arg, message,
                          utf8_floor(message, len, len < LONGEST_PROGRESS ? len : LONGEST_PROGRESS));
}

static void on_input(void *arg, int64_t question)
{
    struct session *s = arg;
    if (s->state == SESSION_RUNNING) /* otherwise it was asked already, or the user's code has forged it */
        session_dispatch(s, &(struct event){.kind = EVENT_INPUT, .question = question});
}

static void on_output(void *arg, enum worker_stream stream, const char *bytes, size_t len)
{
    struct session *s = arg;
    s->host->metrics.counters[METRIC_OUTPUT_BYTES] += len;
    session_output_add(&s->output, s->current != NULL, stream, bytes, len);
    session_tell(s, SESSIONS_PROGRESS);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct session *s = arg;
    /* While a scratch copy exists, this is handled after that has ended (leave() in scratch.c). */
    if (s->scratch == NULL)
        session_dispatch(s, &(struct event){.kind = EVENT_GONE, .end = end});
}

struct worker_events process_events(struct session *s)
{
    return (struct worker_events){.on_ready = on_ready,
                                  .on_reply = on_reply,
                                  .on_progress = on_progress,
                                  .on_input = on_input,
                                  .on_person = s->place.joined.address == NULL ? NULL : joined_note_person,
                                  .on_output = on_output,
                                  .on_gone = on_gone,
                                  .arg = s};
}

void process_call(struct session *s, const char *request)
{
    struct strbuf b = {0};
    strbuf_adds(&b, request);
    worker_call(s->worker, &b, NULL, 0);
    strbuf_fini(&b);
}

static void on_worker(void *arg, struct worker *worker)
{
    struct session *s = arg;
    s->process.is_requested = false;
    s->worker = worker;
    session_set_deadline(s, s->host->waits.hello_ms);
}

/* zygotes_fork() may call this inside the caller's session_run(), so the event is dispatched from the
 * loop. */
static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    if (err->code == ERR_LIMIT && eviction_for_process(s)) {
        zygotes_fork(s->host->options.zygotes, &s->process.request);
        return;
    }
    s->process.is_requested = false;
    xstrset(&s->why, err->message);
    session_later(s);
}

/* The kind of a process not copied from the previous one. */
static struct zygote_kind kind_of(const struct session *s)
{
    return (struct zygote_kind){.heap_mib = limits_int(&s->limits, LIMIT_MAX_HEAP),
                                .confinement = s->place.confinement};
}

/* It may have been removed since. */
static bool find_directory(struct session *s)
{
    if (s->place.directory == NULL || is_directory(s->place.directory))
        return true;
    free(s->why);
    s->why = strbuf_format(
        "The session's directory %s does not exist any more. Make it again, or close the session.",
        s->place.directory);
    session_later(s);
    return false;
}

static void request(struct session *s)
{
    struct process *p = &s->process;
    session_enter_state(s, SESSION_STARTING, 0);
    if (!find_directory(s))
        return;
    if (s->place.joined.address != NULL) {
        struct worker_events events = process_events(s);
        joined_begin(s, &events);
        return;
    }
    p->kind = kind_of(s);
    p->request = (struct zygote_request){.events = process_events(s),
                                         .on_worker = on_worker,
                                         .on_failed = on_failed,
                                         .arg = s,
                                         .kind = p->kind,
                                         .quota = &s->all->processes};
    p->is_requested = true;
    zygotes_fork(s->host->options.zygotes, &p->request);
}

void process_request(struct session *s)
{
    s->process.attempts = 0;
    request(s);
}

bool process_request_again(struct session *s)
{
    process_forget(s);
    if (++s->process.attempts < START_ATTEMPTS) {
        request(s);
        return true;
    }
    const char *why = zygote_why(zygotes_find(s->host->options.zygotes, &s->process.kind));
    xstrset(&s->why, why[0] != '\0' ? why : session_sentence(s, FACT_NOT_READY));
    return false;
}

/* It has not run any code of the session yet, so nothing that the session starts is outside. */
static void join_group(struct session *s)
{
    struct process *p = &s->process;
    if (s->host->options.groups == NULL)
        return;
    if (p->group == NULL)
        p->group = control_group_new(
            s->host->options.groups,
            &(struct control_group_limits){.most_bytes = memory_watch_most(s->host->memory_watch),
                                           .most_tasks = MOST_TASKS});
    if (p->group != NULL)
        control_group_add(p->group, session_core_pid(s));
}

void process_is_first(struct session *s)
{
    s->process.first = session_core_pid(s);
    join_group(s);
}

void process_came(struct session *s)
{
    if (s->place.joined.address != NULL) {
        joined_came(s);
        return;
    }
    process_is_first(s);
    session_enter_state(s, SESSION_IDLE, 0);
    const char *notices = zygote_notices(zygotes_find(s->host->options.zygotes, &s->process.kind));
    if (s->numbers.evaluations == 0 && notices[0] != '\0' && !notices_have(&s->told.notices, FACT_STARTED))
        session_notify(s, FACT(FACT_STARTED, .texts = {notices}));
}

bool process_start_image(struct session *s, const char *image, const char *directory, int least_heap_mib,
                         struct err *err)
{
    struct worker_events events = process_events(s);
    if (least_heap_mib > 0) {
        s->process.kind = kind_of(s);
        if (s->process.kind.heap_mib < least_heap_mib)
            s->process.kind.heap_mib = least_heap_mib;
    }
    do
        s->worker =
            zygote_start_image(zygotes_own(s->host->options.zygotes), &s->process.kind, &s->all->processes,
                               image, directory != NULL ? directory : s->place.directory, &events, err);
    while (s->worker == NULL && err->code == ERR_LIMIT && eviction_for_process(s));
    return s->worker != NULL;
}

/* No other session is to give it a process any more. */
static void cancel_branch(struct session *s)
{
    struct operation *op = s->process.branch;
    s->process.branch = NULL;
    if (op == NULL)
        return;
    op->asked.done = NULL;
    if (op->session->current != op)
        operation_free(op);
}

void process_forget(struct session *s)
{
    if (s->process.is_requested)
        zygote_fork_cancel(&s->process.request);
    s->process.is_requested = false;
    cancel_branch(s);
    joined_cancel(s);
    worker_free(s->scratch);
    worker_free(s->worker);
    s->scratch = s->worker = NULL;
    session_lose_standing(s);
    if (s->snapshots.making != NULL)
        snapshot_drop(s->snapshots.making, FACT_ENDED_IN_COPYING);
    s->snapshots.is_one_owed = false;
    session_enter_state(s, SESSION_ABSENT, 0);
}

/* False if the session has had no process. */
static bool mark_of(const struct session *s, char mark[48])
{
    snprintf(mark, 48, CHILD_SESSION_VARIABLE "=%d", (int)s->process.first);
    return s->process.first != 0;
}

void process_end_programs(struct session *s)
{
    char mark[48];
    if (mark_of(s, mark))
        orphans_end(s->host->orphans, zygotes_children(s->host->options.zygotes), mark);
}

size_t process_programs(const struct session *s, pid_t *out, size_t capacity)
{
    char mark[48];
    size_t n = 0;
    if (session_core_pid(s) > 0)
        n = tree_children(session_core_pid(s), out, capacity);
    if (mark_of(s, mark))
        n += orphans_list(zygotes_children(s->host->options.zygotes), mark, out + n, capacity - n);
    return n;
}
