/*
 * Responsible for making checkpoints. A copy is requested after an evaluation was answered, and counts once
 * the process has confirmed it.
 */
#include "session/checkpointing.h"

#include <stddef.h>

#include "base/memory.h"
#include "session/answer.h"
#include "session/copies.h"
#include "session/memory_watch.h"
#include "session/run.h"
#include "session/session_core.h"

/* An expensive copy is made when this many times its cost has passed since the last one. */
#define DEFERRED_COPY_INTERVAL 20

static struct session *session_of(const struct checkpoint *cp)
{
    return (struct session *)(void *)((char *)cp->owner - offsetof(struct session, checkpoints));
}

static void on_progress(void *arg, const struct sexp *event)
{
    (void)arg;
    (void)event;
}

static void on_checkpoint_reply(void *arg, struct sexp_document *reply)
{
    struct checkpoint *cp = arg;
    sexp_document_free(reply);
    if (cp->is_source)
        session_dispatch(session_of(cp), &(struct event){.kind = EVENT_SOURCE_FREE});
}

static void on_checkpoint_gone(void *arg, const struct child_end *end)
{
    struct checkpoint *cp = arg;
    struct session *s = session_of(cp);
    bool was_being_made = s->checkpoints.making == cp, was_source = cp->is_source;
    checkpoint_drop(cp);
    /* The process's reply is on its way and gives the reason, unless evaluated code has read the request
     * from the channel. */
    if (was_being_made)
        session_dispatch(s, &(struct event){.kind = EVENT_COPY_ENDED, .end = end});
    if (was_source)
        session_dispatch(s, &(struct event){.kind = EVENT_SOURCE_GONE, .end = end});
}

static struct worker_events checkpoint_events(struct checkpoint *cp)
{
    return (struct worker_events){.on_reply = on_checkpoint_reply,
                                  .on_progress = on_progress,
                                  .on_gone = on_checkpoint_gone,
                                  .arg = cp};
}

bool checkpointing_begin(struct session *s, const char *name)
{
    memory_watch_wake(s->host->memory_watch);
    struct err err = {0};
    struct checkpoint *cp = checkpoints_add(&s->checkpoints, NULL, s->at, session_core_package(s));
    struct worker_events events = checkpoint_events(cp);
    s->checkpoints.making = cp;
    do
        cp->worker = copies_of_process(s, &events, &err);
    while (cp->worker == NULL && err.code == ERR_LIMIT && checkpoints_evict_oldest(&s->checkpoints));
    if (cp->worker == NULL) {
        checkpoint_drop(cp);
        copies_refuse(s, err.message);
        return false;
    }
    cp->name = xstrdup(name);
    s->checkpoints.is_one_owed = false;
    s->checkpoints.asked_at_ns = uv_hrtime();
    session_enter_state(s, SESSION_CHECKPOINTING, COPY_MS);
    return true;
}

void checkpointing_settle_down(struct session *s)
{
    copies_drop_ahead(s);
    session_enter_state(s, SESSION_IDLE, 0);
    if (worker_state(s->worker) == WORKER_BUSY) {
        s->checkpoints.asked_at_ns = uv_hrtime();
        session_enter_state(s, SESSION_CHECKPOINTING, COPY_ANSWER_MS);
    } else {
        session_look_at_queue(s);
    }
}

/* There are pauses between expensive copies. */
static bool is_to_wait(const struct session *s)
{
    double since_ms = (double)(uv_hrtime() - s->checkpoints.asked_at_ns) / 1e6;
    return !copies_have_ahead(s) && copies_are_expensive(s) &&
           since_ms < DEFERRED_COPY_INTERVAL * copies_cost_ms(s);
}

void checkpointing_keep_state(struct session *s)
{
    bool is_kept = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && worker_is_alive(s->worker);
    if (worker_state(s->worker) == WORKER_BUSY && (!copies_have_ahead(s) || !is_kept)) {
        checkpointing_settle_down(s);
        return;
    }
    s->checkpoints.is_one_owed = s->checkpoints.is_one_owed || (is_kept && is_to_wait(s));
    session_enter_state(s, SESSION_IDLE, 0);
    if (is_kept && !is_to_wait(s))
        checkpointing_begin(s, NULL);
    session_look_at_queue(s);
}

/* The checkpoint that is being made is not counted. */
static size_t most_checkpoints(const struct session *s)
{
    return (size_t)limits_int(&s->limits, LIMIT_CHECKPOINTS) + (s->checkpoints.making != NULL);
}

void checkpointing_thin(struct session *s)
{
    /* The checkpoint that is being made may fail, so the one before it counts as the newest. */
    checkpoints_thin(&s->checkpoints, most_checkpoints(s), s->checkpoints.making != NULL ? 2 : 1);
}

void checkpointing_thin_rarely(struct session *s)
{
    size_t most = most_checkpoints(s);
    if (checkpoints_are_too_many(&s->checkpoints, most + most / 2))
        checkpointing_thin(s);
}

void checkpointing_retire(struct session *s)
{
    /* A process with threads cannot be copied, so it could not be returned to. One with pipes or sockets
     * keeps them; its copy has none. */
    const struct checkpoint *copy = checkpoints_find(&s->checkpoints, s->at);
    bool is_needed = copy == NULL || copy->severed == NULL;
    if (s->worker != NULL && worker_is_alive(s->worker) && !s->has_threads && is_needed) {
        checkpoints_drop_state(&s->checkpoints, s->at);
        struct checkpoint *cp = checkpoints_add(&s->checkpoints, s->worker, s->at, session_core_package(s));
        struct worker_events events = checkpoint_events(cp);
        worker_set_events(s->worker, &events);
    } else {
        worker_free(s->worker);
    }
    s->worker = NULL;
    s->has_threads = false;
}

void session_action_checkpoint(struct session *s, struct event *e)
{
    (void)e;
    checkpointing_thin(s);
    if (s->checkpoints.is_one_owed && worker_is_alive(s->worker))
        checkpointing_begin(s, NULL);
}

/* The process has answered the request for a copy. Returns whether the copy exists. */
static bool note_copy(struct session *s, const struct event *e)
{
    struct checkpoint *cp = s->checkpoints.making;
    bool ok = copies_note_answer(s, e->document);
    s->checkpoints.making = NULL;
    if (!ok && cp != NULL)
        checkpoint_drop(cp);
    if (ok && cp != NULL) {
        worker_begin(cp->worker, sexp_integer(sexp_get(sexp_root(e->document), 2, "pid"), 0));
        cp->severed = copies_severed(e->document);
        checkpoints_drop_namesakes(&s->checkpoints, cp);
    }
    if (ok && !run_is_asked_at_once(s))
        checkpointing_thin_rarely(s);
    return ok;
}

void session_action_keep(struct session *s, struct event *e)
{
    note_copy(s, e);
    sexp_document_free(e->document);
    run_restart_clock(s);
    session_later(s); /* look-ups may wait for it to begin */
}

void session_action_kept(struct session *s, struct event *e)
{
    bool ok = note_copy(s, e);
    if (s->current != NULL && e->document == NULL)
        answer_unavailable(s, s->current, copies_why_not(s));
    else if (s->current != NULL)
        answer_deliver(
            s, s->current,
            &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = sexp_root(e->document)});
    sexp_document_free(e->document);
    session_enter_state(s, SESSION_IDLE, 0);
    session_look_at_queue(s);
}

/* The copy has ended; the process's reply is on its way and gives the reason. */
void session_action_hasten(struct session *s, struct event *e)
{
    (void)e;
    session_set_deadline(s, COPY_ANSWER_MS);
}

/* The process does not answer the request for a copy. If the copy has ended as well, continue without one. */
void session_action_do_without(struct session *s, struct event *e)
{
    if (s->checkpoints.making != NULL) {
        session_action_kill(s, e);
        return;
    }
    worker_forget_fork(s->worker);
    session_dispatch(s, &(struct event){.kind = EVENT_COPIED});
}
