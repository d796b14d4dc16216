/*
 * Responsible for the error that stands in the process. The process is copied before an entry that may have
 * effects, so an error that is never entered costs no copy.
 */
#include "session/standing.h"

#include "base/memory.h"
#include "session/answer.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/history.h"
#include "session/process.h"
#include "session/run.h"
#include "session/session_core.h"
#include "session/unwinding.h"

void standing_begin(struct session *s, struct error_record *r)
{
    s->standing = r;
    r->stands_here = true;
    standing_resume(s);
}

void standing_resume(struct session *s)
{
    session_enter_state(s, SESSION_STANDING, s->host->waits.standing_ms);
    session_look_at_queue(s);
}

bool standing_accepts(const struct session *s, const struct operation *op)
{
    bool is_entry = op->kind == OPERATION_LOOK || op->kind == OPERATION_RESUME;
    return is_entry ? op->sequence == s->standing->sequence
                    : op->kind == OPERATION_RUN && !op->keeps_record && !op->has_code;
}

/* Look-ups and reading frames only print. */
static bool may_have_effects(const struct operation *op)
{
    return op->kind != OPERATION_RUN && !op->is_examination;
}

void standing_enter(struct session *s, struct operation *op)
{
    run_take_up(s, op);
    const struct error_record *r = s->standing;
    /* A copy from before an entry would bring the state before that back, also after the death of a look-up.
     */
    bool needs_copy = !r->is_copy_current && (may_have_effects(op) || r->frozen != NULL);
    if (needs_copy && copies_freeze(s, s->standing))
        session_enter_state(s, SESSION_INSURING, COPY_MS);
    else
        run_send(s);
}

/* The process has answered for the copy. */
void session_action_enter_standing(struct session *s, struct event *e)
{
    copies_note_frozen(s->standing, e->document);
    sexp_document_free(e->document);
    run_send(s);
}

static void note_effects(struct session *s)
{
    if (may_have_effects(s->current))
        s->standing->is_copy_current = false;
}

void session_action_finish_entry(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    bool ok = session_is_reply(e->document, "ok");
    note_effects(s);
    if (ok)
        history_note_entry(s, s->current, reply);
    answer_keep_examination(s, &e->document);
    uv_timer_stop(s->timer);
    answer_deliver(s, s->current,
                   &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
    standing_resume(s);
}

/* An error inside an entry is reported, but never replaces the one that stands: the Lisp has returned to
 * that. */
void session_action_fail_entry(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    r->session = s;
    note_effects(s);
    history_note_failed_entry(s, s->current, r->condition);
    uv_timer_stop(s->timer);
    answer_error_of_entry(s, r);
    standing_resume(s);
}

/* Unwind the error. It can be entered in its copy; without one, its frames are read first. */
static void unwind(struct session *s)
{
    struct error_record *r = s->standing;
    session_forget_standing(s);
    if (r->frozen != NULL)
        unwinding_begin(s, r);
    else
        unwinding_examine(s, r);
}

void standing_end(struct session *s)
{
    if (!s->standing->is_copy_current && copies_freeze(s, s->standing))
        session_enter_state(s, SESSION_LEAVING, COPY_MS);
    else
        unwind(s);
}

void session_action_end_standing(struct session *s, struct event *e)
{
    (void)e;
    standing_end(s);
}

void session_action_leave(struct session *s, struct event *e)
{
    copies_note_frozen(s->standing, e->document);
    sexp_document_free(e->document);
    unwind(s);
}

bool standing_recover(struct session *s)
{
    struct error_record *r = s->standing;
    if (r == NULL || s->current == NULL || r->frozen == NULL || worker_state(r->frozen) != WORKER_IDLE)
        return false;
    worker_free(s->worker);
    s->worker = r->frozen;
    r->frozen = NULL;
    r->is_copy_current = false;
    struct worker_events events = process_events(s);
    worker_set_events(s->worker, &events);
    return true;
}
