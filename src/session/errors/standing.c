/*
 * Responsible for the error that stands in the process. The process is copied before an entry that may have
 * effects, and before the error is left.
 */
#include "session/errors/standing.h"

#include "session/core/core.h"
#include "session/errors/unwinding.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/run.h"

void standing_begin(struct session *s, struct error_record *r)
{
    s->at_error.standing = r;
    r->stands_here = true;
    checkpointing_settle_down(s, false);
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

void standing_note_effects(struct session *s)
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
