/*
 * Copies of a session's process: the checkpoints that are made after evaluations, and the frozen processes of
 * errors. Both wait in the agent's loop and answer nothing but the request for a copy of themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "session/session_internal.h"

/*
 * Neither says hello, which would cost it more than all else that it does: that it is there is known from its
 * original's answer. A frozen process answers nothing but the fork it is asked for, and that is learnt from
 * the copy itself.
 */
static void on_frozen_progress(void *arg, const struct sexp *event)
{
    (void)arg;
    (void)event;
}

static void on_record_reply(void *arg, struct sexp_document *reply)
{
    struct error_record *r = arg;
    sexp_document_free(reply);
    if (r->session->awaited == r)
        session_ask_scratch(r->session);
}

static void on_record_gone(void *arg, const struct child_end *end)
{
    (void)end;
    struct error_record *r = arg;
    /* The original refused to be copied, or the copy ended at once: its answer is on the way and says why. */
    if (r->session->state == SESSION_FREEZING && r->session->examined == r) {
        session_enter_state(r->session, SESSION_FREEZING, ANSWER_MS);
        return;
    }
    error_record_drop_copy(r);
    if (r->session->awaited == r)
        session_ask_scratch(r->session);
}

struct worker_events session_record_events(struct error_record *r)
{
    return (struct worker_events){
        .on_reply = on_record_reply, .on_progress = on_frozen_progress, .on_gone = on_record_gone, .arg = r};
}

static struct session *session_of(const struct checkpoint *cp)
{
    return (struct session *)(void *)((char *)cp->owner - offsetof(struct session, checkpoints));
}

static void on_checkpoint_gone(void *arg, const struct child_end *end)
{
    struct checkpoint *cp = arg;
    struct session *s = session_of(cp);
    bool was_killed = end->signal == SIGKILL;
    bool was_source = s->source == cp;
    if (s->making == cp) {
        s->making = NULL;
        /* The answer is on the way and says why, unless code has taken the request from the channel. */
        if (s->state == SESSION_CHECKPOINTING)
            session_enter_state(s, SESSION_CHECKPOINTING, ANSWER_MS);
    }
    if (was_source)
        s->source = NULL;
    checkpoint_drop(cp);
    /* If it has made its copy already, the copy lives without it. */
    if (was_source && s->worker == NULL) {
        if (was_killed)
            session_lower_best(s);
        session_go_back(s);
    }
}

static void on_checkpoint_reply(void *arg, struct sexp_document *reply)
{
    struct checkpoint *cp = arg;
    sexp_document_free(reply);
    if (session_of(cp)->source == cp && session_of(cp)->worker == NULL)
        session_ask_source(session_of(cp));
}

static struct worker_events checkpoint_events(struct checkpoint *cp)
{
    return (struct worker_events){.on_reply = on_checkpoint_reply,
                                  .on_progress = on_frozen_progress,
                                  .on_gone = on_checkpoint_gone,
                                  .arg = cp};
}

static struct worker *fork_from(struct worker *original, enum worker_hello hello,
                                const struct worker_events *events, struct err *err)
{
    int channel;
    struct worker *copy = worker_new_copy(original, events, &channel, err);
    if (copy == NULL)
        return NULL;
    worker_fork(original, &channel, 1, hello);
    return copy;
}

/* Ask ${original} for a copy of itself. NULL, with the reason in *err, if there are no descriptors for it. */
struct worker *session_fork_from(struct worker *original, const struct worker_events *events, struct err *err)
{
    return fork_from(original, events->on_ready == NULL ? WORKER_SILENT : WORKER_SAYS_HELLO, events, err);
}

/* The original refused, or the copy ended at once: the answer says the rest. */
static void on_ahead_gone(void *arg, const struct child_end *end)
{
    (void)end;
    session_drop_ahead(arg);
}

static void on_ahead_reply(void *arg, struct sexp_document *reply)
{
    (void)arg;
    sexp_document_free(reply);
}

void session_ask_ahead(struct session *s)
{
    struct err err;
    struct worker_events events = {
        .on_reply = on_ahead_reply, .on_progress = on_frozen_progress, .on_gone = on_ahead_gone, .arg = s};
    bool is_wanted = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && s->why_no_checkpoint == NULL &&
                     !session_checkpoints_when_idle(s);
    CHECK(s->ahead == NULL);
    if (is_wanted && worker_is_alive(s->worker))
        s->ahead = fork_from(s->worker, s->is_asked_at_once ? WORKER_SILENT_AT_ONCE : WORKER_SILENT, &events,
                             &err); /* else it is asked for afterwards, and room is made for it then */
}

void session_drop_ahead(struct session *s)
{
    worker_free(s->ahead);
    s->ahead = NULL;
}

struct worker *session_copy_process(struct session *s, const struct worker_events *events, struct err *err)
{
    struct worker *copy = s->ahead;
    s->ahead = NULL;
    if (copy != NULL)
        worker_set_events(copy, events);
    else if (worker_state(s->worker) == WORKER_IDLE)
        copy = session_fork_from(s->worker, events, err);
    else
        err_set(err, ERR_GONE, "The copy has ended already.");
    return copy;
}

void session_settle_down(struct session *s)
{
    session_drop_ahead(s);
    session_enter_state(s, SESSION_IDLE, 0);
    if (worker_state(s->worker) == WORKER_BUSY) {
        s->forked_at = uv_hrtime();
        session_enter_state(s, SESSION_CHECKPOINTING, ANSWER_MS);
    } else {
        session_proceed(s);
    }
}

void session_make_checkpoint(struct session *s, const char *name)
{
    session_evict_for_memory(s->host);
    struct err err = {0};
    struct checkpoint *cp = checkpoints_add(&s->checkpoints, NULL, s->at, session_package(s));
    struct worker_events events = checkpoint_events(cp);
    s->making = cp;
    do
        cp->worker = session_copy_process(s, &events, &err);
    while (cp->worker == NULL && err.code == ERR_LIMIT && session_drop_oldest_checkpoint(s));
    if (cp->worker == NULL) {
        s->making = NULL;
        checkpoint_drop(cp);
        free(s->why_no_checkpoint);
        s->why_no_checkpoint = xstrdup(err.message);
        return;
    }
    cp->name = xstrdup(name);
    s->owes_checkpoint = false;
    s->forked_at = uv_hrtime();
    session_enter_state(s, SESSION_CHECKPOINTING, FREEZE_MS);
}

/* An evaluation is over and was answered: keep its state, now or when there is time. */
void session_keep_state(struct session *s)
{
    bool is_kept = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && worker_is_alive(s->worker);
    if (worker_state(s->worker) == WORKER_BUSY && (s->ahead == NULL || !is_kept)) {
        session_settle_down(s);
        return;
    }
    session_enter_state(s, SESSION_IDLE, 0);
    if (is_kept) {
        double since_ms = (double)(uv_hrtime() - s->forked_at) / 1e6;
        if (s->ahead == NULL && session_checkpoints_when_idle(s) && since_ms < COSTLY_SHARE * s->fork_ms) {
            s->owes_checkpoint = true;
            session_enter_state(s, SESSION_IDLE, 0);
        } else {
            session_make_checkpoint(s, NULL);
        }
    }
    session_proceed(s);
}

/* What is being made is not counted. */
static size_t most_checkpoints(const struct session *s)
{
    return (size_t)limits_int(&s->limits, LIMIT_CHECKPOINTS) + (s->making != NULL);
}

void session_thin_checkpoints(struct session *s)
{
    /* What is being made may come to nothing: the one before it is the newest. */
    checkpoints_thin(&s->checkpoints, most_checkpoints(s), s->making != NULL ? 2 : 1);
}

void session_thin_checkpoints_rarely(struct session *s)
{
    size_t most = most_checkpoints(s);
    if (checkpoints_are_too_many(&s->checkpoints, most + most / 2))
        session_thin_checkpoints(s);
}

int session_idle_deadline_ms(const struct session *s)
{
    return s->owes_checkpoint || checkpoints_are_too_many(&s->checkpoints, most_checkpoints(s))
               ? s->host->waits.idle_ms
               : 0;
}

void session_action_checkpoint(struct session *s, struct event *e)
{
    (void)e;
    session_thin_checkpoints(s);
    if (s->owes_checkpoint && worker_is_alive(s->worker))
        session_make_checkpoint(s, NULL);
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

const char *session_why_not_copied(const struct sexp_document *answer)
{
    const char *why = answer == NULL ? NULL : sexp_string(sexp_nth(sexp_root(answer), 2), NULL);
    return answer == NULL ? "the process has not answered for the copy"
           : why == NULL  ? "the Lisp could not be copied"
                          : why;
}

void session_action_do_without(struct session *s, struct event *e)
{
    bool is_frozen = s->examined != NULL && s->examined->frozen != NULL &&
                     worker_state(s->examined->frozen) != WORKER_GONE;
    if (s->state == SESSION_CHECKPOINTING ? s->making != NULL : is_frozen) {
        session_action_kill(s, e);
        return;
    }
    worker_forget_fork(s->worker);
    session_dispatch(s, &(struct event){.kind = EVENT_COPIED});
}

bool session_note_copy(struct session *s, const struct event *e)
{
    bool ok = session_is_reply(e->document, "ok");
    double ms = e->document == NULL
                    ? -1
                    : (double)sexp_integer(sexp_get(sexp_root(e->document), 2, "took"), -1) / 1e3;
    if (ms >= 0) {
        /* The lesser of the last two: one that the scheduler held up says nothing about the next. */
        s->fork_ms = s->last_fork_ms < ms ? s->last_fork_ms : ms;
        s->last_fork_ms = ms;
    }
    struct checkpoint *cp = s->making;
    s->making = NULL;
    free(s->why_no_checkpoint);
    s->why_no_checkpoint = NULL;
    session_count(s, ok ? METRIC_CHECKPOINTS_MADE : METRIC_CHECKPOINTS_REFUSED);
    if (!ok) {
        s->why_no_checkpoint = xstrdup(session_why_not_copied(e->document));
        if (cp != NULL)
            checkpoint_drop(cp);
    } else {
        if (cp != NULL)
            worker_begin(cp->worker, sexp_integer(sexp_get(sexp_root(e->document), 2, "pid"), 0));
        if (cp != NULL && cp->name != NULL)
            drop_namesakes(s, cp);
        if (!s->is_asked_at_once)
            session_thin_checkpoints_rarely(s);
    }
    return ok;
}

void session_action_kept(struct session *s, struct event *e)
{
    bool ok = session_note_copy(s, e);
    if (s->current != NULL && e->document == NULL)
        session_deliver(s, s->current,
                        &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = s->why_no_checkpoint});
    else if (s->current != NULL)
        session_deliver(
            s, s->current,
            &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = sexp_root(e->document)});
    sexp_document_free(e->document);
    session_enter_state(s, SESSION_IDLE, 0);
    session_proceed(s);
}

/* The process of now becomes a checkpoint as it is; it waits in the agent's loop like any other. */
void session_retire(struct session *s)
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
