/*
 * Responsible for an error that was reported: it is recorded, and the process stands in it or leaves it.
 */
#include "session/core/core.h"
#include "session/errors/scratch.h"
#include "session/errors/standing.h"
#include "session/process/process.h"
#include "session/process/thread_errors.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/history.h"
#include "session/work/run.h"

/* The operation that met an error continues with the time it has left. */
void session_step_go_on(struct session *s)
{
    struct operation *op = s->current;
    run_go_on(s);
    process_call(s, ":invoke-restart :restart \"GO-ON\" :value \"t\"");
    if (op->is_to_stop)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

/* An error after which the operation continues: it is recorded like any other and can be entered, but the
 * session cannot return to it. */
static void put_aside(struct session *s, struct error_record *r)
{
    struct err err;
    r->met = ++s->current->errors_met;
    r->evaluation = s->numbers.evaluations;
    answer_add_error(s, r);
    if (copies_snapshot(s, r, NULL, STEP_go_on, &err)) {
        r->snapshot->is_aside = true;
    } else {
        error_record_cannot_be_entered(r, FACT_TEXT, err.message);
        session_step_go_on(s);
    }
}

void session_action_put_off(struct session *s, struct event *e)
{
    if (s->current != NULL)
        s->current->is_to_stop = true;
}

static void note_left(struct error_record *r)
{
    r->was_left = true;
    error_record_cannot_be_entered(r, FACT_LEFT_AT_ONCE, NULL);
}

/* The error stands in its thread, or the thread has left it: nothing is copied or unwound. */
static void stay_in_thread(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    bool is_evaluation = op->asked.keeps_record;
    if (r->standing == 0)
        note_left(r);
    answer_error(s, op, r);
    checkpointing_settle_down(s, is_evaluation);
}

/* The error is of a value or of code that was given with an entry. It is reported, but replaces nothing: the
 * error that was entered, here or in a thread, still stands. */
static void fail_in_entry(struct session *s, struct error_record *r)
{
    if (s->at_error.standing != NULL)
        standing_note_effects(s);
    history_note_failed_entry(s, s->current, r->condition);
    uv_timer_stop(s->clock.timer);
    answer_error_of_entry(s, r);
    checkpointing_settle_down(s, false);
}

static bool goes_on(const struct session *s, const struct error_record *r)
{
    return s->current->asked.goes_on && !run_is_stopped(s) &&
           !sexp_is_nil(sexp_get(r->condition, 2, "goes-on"));
}

/* The session is now in the state that the failed evaluation leaves behind. */
static void count_evaluation(struct session *s, struct error_record *r)
{
    bool is_stopped = run_is_stopped(s) && sexp_is_symbol(sexp_get(r->condition, 2, "kind"), "interrupt");
    answer_note_package(s, r->condition);
    answer_write_journal(s, s->current, is_stopped ? JOURNAL_STOPPED : JOURNAL_ERROR, r->condition);
    if (s->current->asked.keeps_record)
        r->evaluation = s->at = s->numbers.evaluations;
    r->stands_here = s->current->asked.keeps_record && !sexp_is_nil(sexp_get(r->condition, 2, "stands-here"));
    thread_errors_note_standing(s, r);
    if (is_stopped)
        run_note_stop(s, r);
}

/* The process waits: it stands in the error, or leaves it. */
static void stand_or_leave(struct session *s, struct error_record *r)
{
    if (r != NULL && r->stands_here) {
        standing_begin(s, r);
    } else if (r != NULL && sexp_count(sexp_get(r->condition, 2, "restarts")) > 0) {
        standing_examine(s, r);
    } else {
        standing_unwind(s, r);
    }
}

/* The evaluation ends with the error, in which the process stands. */
static void end_in_error(struct session *s, struct error_record *r)
{
    bool is_kept = s->current->asked.keeps_record; /* otherwise the answer owns ${r} */
    if (!r->stands_here)
        note_left(r);
    answer_error(s, s->current, r);
    stand_or_leave(s, is_kept ? r : NULL);
}

static void fail_in_operation(struct session *s, struct error_record *r)
{
    standing_continued(s);
    if (goes_on(s, r)) {
        put_aside(s, r);
    } else if (!sexp_is_nil(sexp_get(r->condition, 2, "settled"))) {
        fail_in_entry(s, r);
    } else {
        count_evaluation(s, r);
        if (r->standing > 0 || !sexp_is_nil(sexp_get(r->condition, 2, "left")))
            stay_in_thread(s, r);
        else
            end_in_error(s, r);
    }
}

void session_action_fail(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    r->session = s;
    if (s->scratch != NULL)
        scratch_fail(s, r);
    else if (standing_is_entry(s, r->condition))
        fail_in_entry(s, r);
    else
        fail_in_operation(s, r);
}
