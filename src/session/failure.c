/*
 * From the report of an error to the end of its unwinding.
 */
#include "session/failure.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "session/answer.h"
#include "session/checkpointing.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/process.h"
#include "session/recovery.h"
#include "session/run.h"
#include "session/session_core.h"
#include "session/thread_errors.h"

#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */
#define NO_COPIES "This session makes no copies of itself (checkpoint-limit is 0)."

struct failure {
    struct error_record *examined; /* borrowed: the kept record of what is being copied or unwound */
    struct error_record *held; /* the report of a stopped operation: how that ends is known only when it is
                                  unwound */
    uint64_t at_before;        /* the state before the evaluation that is being unwound */
};

struct failure *failure_new(void)
{
    return xcalloc(1, sizeof(struct failure));
}

void failure_free(struct failure *f)
{
    error_record_free(f->held);
    free(f);
}

void failure_forget(struct session *s)
{
    s->failure->examined = NULL;
}

struct error_record *failure_take_held(struct session *s)
{
    struct error_record *r = s->failure->held;
    s->failure->held = NULL;
    return r;
}

uint64_t failure_at_before(const struct session *s)
{
    return s->failure->at_before;
}

/* What cannot be read later from a copy is read now. */
static void examine(struct session *s)
{
    char request[64];
    snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
    session_enter_state(s, SESSION_EXAMINING, s->host->waits.examine_ms);
    process_call(s, request);
}

/* The operation that met an error goes on where it was, with the time it has left. */
static void go_on(struct session *s)
{
    struct operation *op = s->current;
    op->is_put_aside = false;
    s->failure->examined = NULL;
    run_go_on(s);
    process_call(s, ":invoke-restart :restart \"GO-ON\" :value \"t\"");
    if (op->is_to_stop)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

/* Ask for the frozen process of this error. False, with the reason in the record, if there will be none. */
static bool freeze(struct session *s, struct error_record *r)
{
    struct err err = {0};
    struct worker_events events = copies_frozen_events(r);
    bool may_copy = limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0;
    if (may_copy && worker_is_alive(s->worker))
        r->frozen = copies_of_process(s, &events, &err);
    r->is_being_frozen = r->frozen != NULL;
    if (r->frozen == NULL && !may_copy)
        r->why_not_frozen = xstrdup(NO_COPIES);
    return r->frozen != NULL;
}

/* An error that the operation survives: it is kept like any other and can be entered. */
static void put_aside(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    op->is_put_aside = op->has_met_error = true;
    r->evaluation = s->evaluations;
    answer_add_error(s, r);
    if (freeze(s, r)) {
        s->failure->examined = r;
        session_enter_state(s, SESSION_FREEZING, COPY_MS);
    } else {
        go_on(s);
    }
}

void session_action_put_off(struct session *s, struct event *e)
{
    (void)e;
    if (s->current != NULL && s->current->is_put_aside)
        s->current->is_to_stop = true;
}

/* What failed is unwound, and the state that this leaves is copied if it was an evaluation. */
static void unwind(struct session *s)
{
    const struct failure *f = s->failure;
    session_enter_state(s, SESSION_ABORTING, f->held != NULL ? run_unwind_ms(s) : s->host->waits.abort_ms);
    process_call(s, ":abort");
    if (f->examined != NULL)
        copies_ask_ahead(s);
}

/* The error stays in its thread, or its thread has left it: nothing is copied or unwound. */
static void stay_in_thread(struct session *s, struct error_record *r, bool is_stopped)
{
    struct operation *op = s->current;
    bool is_evaluation = op->keeps_record;
    if (is_stopped)
        run_word_stop(s, r, false);
    copies_drop_ahead(s);
    answer_error(s, op, r);
    if (is_evaluation)
        checkpointing_keep_state(s);
    else
        checkpointing_settle_down(s);
}

static bool goes_on(const struct session *s, const struct error_record *r)
{
    return s->current->goes_on && !run_is_stopped(s) && !sexp_is_nil(sexp_get(r->condition, 2, "goes-on"));
}

/* The state after this evaluation is what it leaves behind. */
static void count_evaluation(struct session *s, struct error_record *r, bool is_stopped)
{
    recovery_note_evaluation(s);
    s->failure->at_before = s->at;
    answer_note_package(s, r->condition);
    answer_write_journal(s, s->current, is_stopped ? JOURNAL_STOPPED : JOURNAL_ERROR);
    if (s->current->keeps_record)
        r->evaluation = s->at = s->evaluations;
}

void session_action_freeze(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    r->session = s;
    if (goes_on(s, r)) {
        put_aside(s, r);
        return;
    }
    bool is_stopped = run_is_stopped(s) && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt");
    count_evaluation(s, r, is_stopped);
    thread_errors_note_standing(s, r);
    if (r->standing > 0 || !sexp_is_nil(sexp_get(r->condition, 2, "settled"))) {
        stay_in_thread(s, r, is_stopped);
        return;
    }
    /* A look-up's error is nobody's to enter; and after a second interrupt the Lisp stands in no error any
     * more. */
    bool is_enterable = op->keeps_record && sexp_count(sexp_get(r->condition, 2, "restarts")) > 0;
    s->failure->examined = op->keeps_record ? r : NULL;
    /* How a stopped operation ended is known only when it has been unwound; everything else is reported at
     * once. */
    if (is_stopped)
        s->failure->held = r;
    else
        answer_error(s, op, r);
    /* ${r} is gone now if it was a look-up's. */
    bool is_freezing = is_enterable && freeze(s, r);
    copies_drop_ahead(s);
    if (worker_state(s->worker) == WORKER_BUSY)
        session_enter_state(s, SESSION_FREEZING, is_freezing ? COPY_MS : COPY_ANSWER_MS);
    else if (is_enterable && r->why_not_frozen != NULL)
        examine(s);
    else
        unwind(s);
}

/* The process has answered for the copy. */
static void note_copy(struct error_record *r, const struct sexp_document *answer)
{
    bool ok = session_is_reply(answer, "ok");
    r->is_being_frozen = false;
    if (ok && r->frozen != NULL)
        worker_begin(r->frozen, sexp_integer(sexp_get(sexp_root(answer), 2, "pid"), 0));
    if (!ok)
        r->why_not_frozen = xstrdup(copies_reason(answer));
    if (!ok || (r->frozen != NULL && worker_state(r->frozen) == WORKER_GONE))
        error_record_drop_copy(r);
}

void session_action_frozen(struct session *s, struct event *e)
{
    struct error_record *r = s->failure->examined;
    bool ok = session_is_reply(e->document, "ok");
    if (r != NULL)
        note_copy(r, e->document);
    sexp_document_free(e->document);
    if (s->current != NULL && s->current->is_put_aside)
        go_on(s);
    else if (!ok && r != NULL)
        examine(s);
    else
        unwind(s);
}

/* Nobody answers for the copy. Where the copy has ended as well, the session goes on without one. */
void session_action_forgo(struct session *s, struct event *e)
{
    const struct error_record *r = s->failure->examined;
    if (r != NULL && r->frozen != NULL && worker_state(r->frozen) != WORKER_GONE) {
        session_action_kill(s, e);
        return;
    }
    worker_forget_fork(s->worker);
    session_dispatch(s, &(struct event){.kind = EVENT_COPIED});
}

void session_action_abort(struct session *s, struct event *e)
{
    if (s->failure->examined != NULL && session_is_reply(e->document, "ok"))
        s->failure->examined->details = e->document;
    else
        sexp_document_free(e->document);
    unwind(s);
}

void session_action_settle(struct session *s, struct event *e)
{
    if (e->document != NULL)
        answer_note_package(s, sexp_root(e->document));
    sexp_document_free(e->document);
    struct error_record *held = failure_take_held(s);
    bool is_evaluation = s->failure->examined != NULL;
    s->failure->examined = NULL;
    if (held != NULL) {
        run_word_stop(s, held, false);
        answer_error(s, s->current, held);
    }
    if (is_evaluation)
        checkpointing_keep_state(s);
    else
        checkpointing_settle_down(s);
}
