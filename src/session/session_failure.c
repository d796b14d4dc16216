/*
 * What follows a failure: the process stands in it, is copied there or looked at, and is unwound; the error
 * is reported and kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "session/session_internal.h"

#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */
#define ENTERABLE 5         /* errors that keep their frozen process */

/* The record is the session's from here on; of the older ones only the last few can be entered. */
void session_remember_error(struct session *s, struct error_record *r)
{
    struct error_record **slot = &s->history[s->errors % HISTORY];
    error_record_free(*slot);
    *slot = r;
    r->sequence = (int)++s->errors;
    if (r->thread == NULL)
        s->has_error = true;
    if (s->errors > ENTERABLE)
        error_record_drop_copy(s->history[(s->errors - 1 - ENTERABLE) % HISTORY]);
    session_tell(s, SESSIONS_ERROR);
}

void session_clear_error(struct session *s)
{
    bool had_error = s->has_error;
    s->has_error = false;
    if (had_error)
        session_tell(s, SESSIONS_ERROR);
}

/* Deliver an error; a record that is not to be kept is freed. */
void session_deliver_error(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_kept = op->keeps_record;
    if (is_kept)
        session_remember_error(s, r);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_ERROR, .error = r});
    if (!is_kept) {
        if (s->examined == r)
            s->examined = NULL;
        error_record_free(r);
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
    session_enter_state(s, SESSION_EXAMINING, s->host->waits.examine_ms);
    session_call(s, request);
}

/* The operation that met an error goes on where it was, with the time it has left. */
static void go_on(struct session *s)
{
    struct operation *op = s->current;
    uint64_t spent_ms = uv_now(s->host->loop) - s->started_at;
    op->is_put_aside = false;
    s->examined = NULL;
    session_enter_state(s, SESSION_RUNNING,
                        spent_ms < (uint64_t)s->running_timeout_ms ? s->running_timeout_ms - (int)spent_ms
                                                                   : 1);
    session_call(s, ":invoke-restart :restart \"GO-ON\" :value \"t\"");
    if (op->is_to_stop)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

/* An error that the operation survives: it is kept like any other and can be entered. */
static void put_aside(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    op->is_put_aside = op->has_met_error = true;
    r->evaluation = s->evaluations;
    session_remember_error(s, r);
    struct err err = {0};
    struct worker_events events = session_record_events(r);
    if (limits_int(&s->limits, LIMIT_CHECKPOINTS) > 0 && worker_is_alive(s->worker))
        r->frozen = session_copy_process(s, &events, &err);
    if (r->frozen != NULL) {
        s->examined = r;
        session_enter_state(s, SESSION_FREEZING, FREEZE_MS);
    } else {
        r->why_not_frozen = xstrdup(err.message[0] != '\0'
                                        ? err.message
                                        : "This session makes no copies of itself (checkpoint-limit is 0).");
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

/* The error stays in its thread, or its thread has left it: nothing is copied or unwound. */
static void stand(struct session *s, struct operation *op, struct error_record *r, bool is_stopped)
{
    bool is_evaluation = op->keeps_record;
    if (is_stopped)
        session_word_stop(s, r, false);
    session_drop_ahead(s);
    session_deliver_error(s, op, r);
    if (is_evaluation)
        session_keep_state(s);
    else
        session_settle_down(s);
}

void session_action_freeze(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    r->session = s;
    if (op->goes_on && s->scratch == NULL && s->stop == STOP_NONE &&
        !sexp_is_nil(sexp_get(r->condition, 2, "goes-on"))) {
        put_aside(s, r);
        return;
    }
    if (s->scratch != NULL) {
        session_scratch_failed(s, op, r);
        return;
    }
    session_remember_package(s, r->condition);
    bool is_stopped = s->stop != STOP_NONE && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt");
    session_write_journal(s, op, is_stopped ? JOURNAL_STOPPED : JOURNAL_ERROR);
    s->at_before = s->at;
    if (op->keeps_record) {
        s->at = s->evaluations;
        s->is_untried = false;
        r->evaluation = s->at;
    }
    session_note_standing(s, r);
    if (r->standing > 0 || !sexp_is_nil(sexp_get(r->condition, 2, "settled"))) {
        stand(s, op, r, is_stopped);
        return;
    }
    s->examined = r;
    /* A look-up's error is nobody's to enter; and after a second interrupt the Lisp stands in no error any
     * more. */
    bool is_enterable = op->keeps_record && sexp_count(sexp_get(r->condition, 2, "restarts")) > 0;
    /* How a stopped operation ended is known only when it has been unwound; everything else is reported at
     * once. */
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
        unwind(s, s->host->waits.abort_ms);
    }
}

static int time_to_unwind(const struct session *s)
{
    if (s->held == NULL)
        return s->host->waits.abort_ms;
    uint64_t now = uv_now(s->host->loop);
    int left = s->kill_at > now ? (int)(s->kill_at - now) : 0, most = s->host->waits.step_ms;
    return left < most / 10 ? most / 10 : left > most ? most : left;
}

void session_action_frozen(struct session *s, struct event *e)
{
    bool ok = session_is_reply(e->document, "ok");
    if (ok && s->examined != NULL && s->examined->frozen != NULL)
        worker_begin(s->examined->frozen, sexp_integer(sexp_get(sexp_root(e->document), 2, "pid"), 0));
    if (!ok && s->examined != NULL) {
        s->examined->why_not_frozen = xstrdup(session_why_not_copied(e->document));
        error_record_drop_copy(s->examined);
    } else if (s->examined != NULL && s->examined->frozen != NULL &&
               worker_state(s->examined->frozen) == WORKER_GONE) {
        error_record_drop_copy(s->examined);
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

void session_action_abort(struct session *s, struct event *e)
{
    if (s->examined != NULL && session_is_reply(e->document, "ok"))
        s->examined->details = e->document;
    else
        sexp_document_free(e->document);
    unwind(s, time_to_unwind(s));
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
