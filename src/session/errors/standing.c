/*
 * Responsible for the error that stands in the process. The process is copied before an entry that may have
 * effects, and before the error is left.
 */
#include "session/errors/standing.h"

#include "session/core/core.h"
#include "session/errors/unwinding.h"
#include "session/records/error_record.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/history.h"
#include "session/work/run.h"

void standing_begin(struct session *s, struct error_record *r)
{
    s->at_error.standing = r;
    r->stands_here = true;
    standing_resume(s);
}

void standing_resume(struct session *s)
{
    if (worker_state(s->worker) == WORKER_BUSY) { /* its answer about a scratch copy is on its way */
        copies_await(s, COPY_ANSWER_MS, standing_resume);
        return;
    }
    session_enter_state(s, SESSION_STANDING, s->host->waits.standing_ms);
    session_look_at_queue(s);
}

bool standing_accepts(const struct session *s, const struct operation *op)
{
    bool is_entry = op->kind == OPERATION_VISIT || op->kind == OPERATION_CONTINUE;
    return is_entry ? op->sequence == s->at_error.standing->sequence
                    : op->kind == OPERATION_RUN && !op->keeps_record && !op->has_code;
}

/* Look-ups and reading frames only print. */
static bool may_have_effects(const struct operation *op)
{
    return op->kind != OPERATION_RUN && !op->is_examination;
}

void standing_continued(struct session *s)
{
    struct error_record *r = s->at_error.standing;
    session_forget_standing(s);
    if (r != NULL)
        error_record_continued(r);
}

void standing_enter(struct session *s, struct operation *op)
{
    run_take_up(s, op);
    const struct error_record *r = s->at_error.standing;
    struct err err;
    /* A copy from before an entry would bring the state before that back, also after the death of a look-up.
     */
    bool needs_copy = r->snapshot == NULL ? may_have_effects(op) : r->snapshot->is_stale;
    if (!needs_copy || !copies_snapshot(s, s->at_error.standing, NULL, run_send, &err))
        run_send(s);
}

static void note_effects(struct session *s)
{
    if (may_have_effects(s->current) && s->at_error.standing->snapshot != NULL)
        s->at_error.standing->snapshot->is_stale = true;
}

bool standing_is_entry(const struct session *s, const struct sexp *reply)
{
    if (s->at_error.standing == NULL || s->current == NULL)
        return false;
    if (sexp_is_symbol(sexp_nth(reply, 1), "error"))
        return !sexp_is_nil(sexp_get(reply, 2, "settled"));
    return s->current->kind != OPERATION_CONTINUE || !sexp_is_symbol(sexp_nth(reply, 1), "ok");
}

void standing_finish_entry(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    bool ok = session_is_reply(e->document, "ok");
    note_effects(s);
    if (ok)
        history_note_entry(s, s->current, reply);
    answer_keep_examination(s, &e->document);
    uv_timer_stop(s->clock.timer);
    answer_deliver(s, s->current,
                   &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
    standing_resume(s);
}

/* An error inside an entry is reported, but never replaces the one that stands: the Lisp has returned to
 * that. */
void standing_fail_entry(struct session *s, struct error_record *r)
{
    note_effects(s);
    history_note_failed_entry(s, s->current, r->condition);
    uv_timer_stop(s->clock.timer);
    answer_error_of_entry(s, r);
    standing_resume(s);
}

/* Unwind the error. It can be entered in its snapshot; without one, its frames are read first. */
static void unwind(struct session *s)
{
    struct error_record *r = s->at_error.standing;
    session_forget_standing(s);
    if (r->snapshot != NULL)
        unwinding_begin(s, r);
    else
        unwinding_examine(s, r);
}

void standing_end(struct session *s)
{
    struct err err;
    struct error_record *r = s->at_error.standing;
    if (r->snapshot != NULL && !r->snapshot->is_stale) {
        unwind(s);
    } else if (!copies_snapshot(s, r, NULL, unwind, &err)) {
        error_record_cannot_be_entered(r, FACT_TEXT, err.message);
        unwind(s);
    }
}

void session_action_end_standing(struct session *s, struct event *e)
{
    standing_end(s);
}
