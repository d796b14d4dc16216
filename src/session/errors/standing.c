/*
 * Responsible for the error that stands in the process, and for leaving it: the states STANDING, EXAMINING
 * and UNWINDING. The process is copied before an entry that may have effects, and before the error is left.
 */
#include "session/errors/standing.h"

#include <stdio.h>

#include "session/core/core.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/run.h"

#define LEAVE_MS 10000      /* to leave an error again: the agent may have to walk a large heap first */
#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */

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
                    : op->kind == OPERATION_RUN && !op->asked.keeps_record;
}

/* Look-ups and reading frames only print. */
static bool may_have_effects(const struct operation *op)
{
    return op->kind != OPERATION_RUN && !op->asked.is_examination;
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
    if (!needs_copy || !copies_snapshot(s, s->at_error.standing, NULL, STEP_send, &err))
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

static void abort_by(struct session *s, const char *request, int limit_ms, enum session_step next)
{
    s->next = next;
    run_begin_work(s, SESSION_UNWINDING, limit_ms);
    process_call(s, request);
}

/* The session is in the state that the failed evaluation has left behind. */
void session_step_keep_state(struct session *s)
{
    bool is_new = s->at_error.unwound != NULL && snapshots_find(&s->snapshots, s->at) == NULL;
    s->at_error.unwound = NULL;
    checkpointing_settle_down(s, is_new);
}

void standing_unwind(struct session *s, struct error_record *r)
{
    s->at_error.unwound = r;
    abort_by(s, ":abort", s->host->waits.abort_ms, STEP_keep_state);
}

void standing_leave_again(struct session *s)
{
    abort_by(s, ":abort :again t", LEAVE_MS, STEP_become);
}

void standing_examine(struct session *s, struct error_record *r)
{
    char request[64];
    s->at_error.unwound = r;
    snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
    run_begin_work(s, SESSION_EXAMINING, s->host->waits.examine_ms);
    process_call(s, request);
}

void session_action_unwind(struct session *s, struct event *e)
{
    struct error_record *r = s->at_error.unwound;
    if (r != NULL && r->details == NULL && session_is_reply(e->document, "ok"))
        error_history_add_details(&s->errors, r, e->document);
    else
        sexp_document_free(e->document);
    standing_unwind(s, r);
}

/* A cleanup form failed, or did not end in time. */
static void note_failed_cleanup(struct session *s, const struct sexp *reply)
{
    struct error_record *r = s->at_error.unwound;
    /* The session must not return to its snapshot: the form would run again. */
    if (r->snapshot != NULL)
        snapshot_set_aside(r->snapshot);
    session_notify(s, FACT(FACT_CLEANUP_FAILED, .numbers = {(uint64_t)r->sequence},
                           .texts = {sexp_string(sexp_get(reply, 2, "type"), NULL),
                                     sexp_string(sexp_get(reply, 2, "message"), NULL)}));
}

void session_action_settle(struct session *s, struct event *e)
{
    if (e->document != NULL)
        answer_note_package(s, sexp_root(e->document));
    if (session_is_reply(e->document, "error") && s->next == STEP_keep_state && s->at_error.unwound != NULL)
        note_failed_cleanup(s, sexp_root(e->document));
    sexp_document_free(e->document);
    session_take_step(s);
}

/* Leave the error. It can be entered in its snapshot; without one, its frames are read first. */
void session_step_leave(struct session *s)
{
    struct error_record *r = s->at_error.standing;
    session_forget_standing(s);
    if (r->snapshot != NULL)
        standing_unwind(s, r);
    else
        standing_examine(s, r);
}

void session_action_end_standing(struct session *s, struct event *e)
{
    struct err err;
    struct error_record *r = s->at_error.standing;
    if (r->snapshot != NULL && !r->snapshot->is_stale) {
        session_step_leave(s);
    } else if (!copies_snapshot(s, r, NULL, STEP_leave, &err)) {
        error_record_cannot_be_entered(r, FACT_TEXT, err.message);
        session_step_leave(s);
    }
}
