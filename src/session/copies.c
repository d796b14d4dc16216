/*
 * Copies send no hello, which would cost more than the rest of the copying: the reply of the process shows
 * that a copy exists.
 */
#include "session/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/error_record.h"
#include "session/eviction.h"
#include "session/memory_watch.h"
#include "session/run.h"
#include "session/session_core.h"

#define NO_COPIES "This session makes no copies of itself (checkpoint-limit is 0)."
#define EXPENSIVE_MS 20.0 /* a copy that takes longer is not made after every evaluation */

struct copies {
    struct worker *ahead; /* requested together with the operation that runs; NULL: none, or it failed */
    double ms, last_ms;   /* the cost of copying the process, and that of the last copy */
    char *why_not;        /* NULL, or why the last one could not be made */
};

struct copies *copies_new(void)
{
    return xcalloc(1, sizeof(struct copies));
}

void copies_free(struct copies *c)
{
    worker_free(c->ahead);
    free(c->why_not);
    free(c);
}

static struct worker *fork_from(struct worker *original, enum worker_hello hello,
                                const struct worker_events *events, struct err *err)
{
    int channel;
    struct worker *copy = worker_new_copy(original, events, &channel, err);
    if (copy != NULL)
        worker_fork(original, &channel, 1, hello);
    return copy;
}

struct worker *copies_of(struct worker *original, const struct worker_events *events, struct err *err)
{
    return fork_from(original, events->on_ready == NULL ? WORKER_SILENT : WORKER_SAYS_HELLO, events, err);
}

/* The process refused, or the copy ended at once: the process's reply gives the reason. */
static void on_ahead_gone(void *arg, const struct child_end *end)
{
    (void)end;
    copies_drop_ahead(arg);
}

static void on_ahead_reply(void *arg, struct sexp_document *reply)
{
    (void)arg;
    sexp_document_free(reply);
}

static void on_progress(void *arg, const struct sexp *event)
{
    (void)arg;
    (void)event;
}

void copies_ask_ahead(struct session *s)
{
    struct err err;
    struct worker_events events = {
        .on_reply = on_ahead_reply, .on_progress = on_progress, .on_gone = on_ahead_gone, .arg = s};
    bool is_wanted = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && s->copies->why_not == NULL &&
                     !copies_are_expensive(s);
    CHECK(s->copies->ahead == NULL);
    /* If there is no room for it now it is requested after the operation, and room is made then. */
    if (is_wanted && worker_is_alive(s->worker))
        s->copies->ahead = fork_from(s->worker, WORKER_SILENT, &events, &err);
}

void copies_drop_ahead(struct session *s)
{
    worker_free(s->copies->ahead);
    s->copies->ahead = NULL;
}

bool copies_have_ahead(const struct session *s)
{
    return s->copies->ahead != NULL;
}

struct worker *copies_of_process(struct session *s, const struct worker_events *events, struct err *err)
{
    struct worker *copy = s->copies->ahead;
    s->copies->ahead = NULL;
    if (copy != NULL)
        worker_set_events(copy, events);
    else if (worker_state(s->worker) == WORKER_IDLE)
        copy = copies_of(s->worker, events, err);
    else
        err_set(err, ERR_GONE, "The copy has already ended.");
    return copy;
}

/* Is the session waiting for this error's frozen process? */
static bool is_waited_for(const struct error_record *r)
{
    return r->session->state == SESSION_WAITING && r->session->current->sequence == r->sequence;
}

static void on_frozen_reply(void *arg, struct sexp_document *reply)
{
    struct error_record *r = arg;
    sexp_document_free(reply);
    if (is_waited_for(r))
        session_dispatch(r->session, &(struct event){.kind = EVENT_SOURCE_FREE});
}

static void on_frozen_gone(void *arg, const struct child_end *end)
{
    struct error_record *r = arg;
    /* The process refused to be copied, or the copy ended at once: the reply is on its way and gives the
     * reason. */
    if (r->is_being_frozen) {
        session_dispatch(r->session, &(struct event){.kind = EVENT_COPY_ENDED, .end = end});
        return;
    }
    error_record_drop_copy(r, "The copy of the process that stood in it has ended.");
    if (is_waited_for(r))
        session_dispatch(r->session, &(struct event){.kind = EVENT_SOURCE_GONE, .end = end});
}

struct worker_events copies_frozen_events(struct error_record *r)
{
    return (struct worker_events){
        .on_reply = on_frozen_reply, .on_progress = on_progress, .on_gone = on_frozen_gone, .arg = r};
}

static void set_why(struct error_record *r, const char *why)
{
    free(r->why_not_frozen);
    r->why_not_frozen = xstrdup(why);
}

bool copies_freeze(struct session *s, struct error_record *r)
{
    struct err err = {0};
    struct worker_events events = copies_frozen_events(r);
    bool may_copy = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0;
    error_record_drop_copy(r, NULL);
    set_why(r, NULL);
    while (may_copy && worker_is_alive(s->worker)) {
        r->frozen = copies_of_process(s, &events, &err);
        if (r->frozen != NULL || err.code != ERR_LIMIT || !eviction_for_copy(s))
            break;
    }
    r->is_being_frozen = r->frozen != NULL;
    if (r->is_being_frozen)
        memory_watch_wake(s->host->memory_watch);
    if (!may_copy)
        set_why(r, NO_COPIES);
    else if (r->frozen == NULL)
        set_why(r, err.message);
    return r->frozen != NULL;
}

#define MOST_LISTED 20
#define LONGEST_LISTED 150

/* The strings under ${key} of the answer, of which there are as many as ${count_key} says. */
static char *list_of(const struct sexp_document *answer, const char *key, const char *count_key)
{
    const struct sexp *reply = answer == NULL ? NULL : sexp_root(answer);
    const struct sexp *items = sexp_get(reply, 2, key);
    int64_t all = sexp_integer(sexp_get(reply, 2, count_key), 0);
    size_t shown = sexp_count(items) < MOST_LISTED ? sexp_count(items) : MOST_LISTED;
    if (shown == 0)
        return NULL;
    struct strbuf text;
    strbuf_init(&text, 0);
    for (size_t i = 0; i < shown; i++) {
        size_t len;
        const char *one = sexp_string(sexp_nth(items, i), &len);
        strbuf_adds(&text, i > 0 ? ", " : "");
        if (one != NULL)
            strbuf_add(&text, one, utf8_floor(one, len, len < LONGEST_LISTED ? len : LONGEST_LISTED));
    }
    if (all > (int64_t)shown)
        strbuf_addf(&text, " and %lld more", (long long)(all - (int64_t)shown));
    return strbuf_steal(&text, NULL);
}

char *copies_severed(const struct sexp_document *answer)
{
    return list_of(answer, "severed", "severed-count");
}

/* Why the process refused, or that it has not answered if ${answer} is NULL. */
static const char *reason_of(const struct sexp_document *answer)
{
    const char *why = answer == NULL ? NULL : sexp_string(sexp_nth(sexp_root(answer), 2), NULL);
    return answer == NULL ? "the process has not answered for the copy"
           : why == NULL  ? "the Lisp could not be copied"
                          : why;
}

void copies_note_frozen(struct error_record *r, const struct sexp_document *answer)
{
    bool ok = session_is_reply(answer, "ok");
    r->is_being_frozen = false;
    free(r->severed);
    r->severed = copies_severed(answer);
    free(r->files);
    r->files = list_of(answer, "files", "files-count");
    if (ok && r->frozen != NULL)
        worker_begin(r->frozen, sexp_integer(sexp_get(sexp_root(answer), 2, "pid"), 0));
    if (!ok)
        set_why(r, reason_of(answer));
    if (!ok || (r->frozen != NULL && worker_state(r->frozen) == WORKER_GONE))
        error_record_drop_copy(r, NULL);
    r->is_copy_current = r->frozen != NULL;
}

static void note_cost(struct copies *c, const struct sexp_document *answer)
{
    double ms = (double)sexp_integer(sexp_get(sexp_root(answer), 2, "took"), -1) / 1e3;
    if (ms < 0)
        return;
    /* The lesser of the last two: a copy that the scheduler delayed is not representative. */
    c->ms = c->last_ms < ms ? c->last_ms : ms;
    c->last_ms = ms;
}

bool copies_note_answer(struct session *s, const struct sexp_document *answer)
{
    bool ok = session_is_reply(answer, "ok");
    if (answer != NULL)
        note_cost(s->copies, answer);
    session_count(s, ok ? METRIC_CHECKPOINTS_MADE : METRIC_CHECKPOINTS_REFUSED);
    copies_refuse(s, ok ? NULL : reason_of(answer));
    return ok;
}

const char *copies_why_not(const struct session *s)
{
    return s->copies->why_not;
}

void copies_refuse(struct session *s, const char *why)
{
    free(s->copies->why_not);
    s->copies->why_not = xstrdup(why);
}

double copies_cost_ms(const struct session *s)
{
    return s->copies->ms;
}

bool copies_are_expensive(const struct session *s)
{
    return s->copies->ms > EXPENSIVE_MS;
}

void copies_forget_cost(struct session *s)
{
    s->copies->ms = s->copies->last_ms = 0;
}
