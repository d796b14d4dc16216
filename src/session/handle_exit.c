/*
 * The end of a session's process, where it is an accident: what is known is recorded, and the way back
 * begins.
 */
#include "session/answer.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/exit_record.h"
#include "session/failure.h"
#include "session/recovery.h"
#include "session/run.h"
#include "session/session_core.h"

/* Where a stopped operation was when it reported is worth more than the frames that a killed process left. */
static void take_report(struct error_record *r, struct error_record *held)
{
    sexp_document_free(r->document);
    r->document = held->document;
    r->condition = held->condition;
    r->details = held->details;
    r->frozen = held->frozen;
    held->document = held->details = NULL;
    held->frozen = NULL;
    if (r->frozen != NULL) {
        struct worker_events events = copies_frozen_events(r);
        worker_set_events(r->frozen, &events);
    }
}

/* The operation that ran is answered with this. */
static struct error_record *record_of(struct session *s, const struct child_end *end,
                                      struct error_record *held)
{
    struct error_record *r = exit_record_new(s, end);
    bool was_stopped = run_is_stopped(s) && s->state == SESSION_KILLING;
    if (was_stopped && held != NULL)
        take_report(r, held);
    if (was_stopped)
        run_word_stop(s, r, true);
    return r;
}

/* Sent behind the request for a copy that the process had not answered for. */
static bool has_not_begun(const struct session *s)
{
    return s->current != NULL && !run_is_stopped(s) &&
           (s->state == SESSION_RUNNING || s->state == SESSION_KILLING) && !worker_has_begun(s->worker);
}

static enum recovery_cause cause_of(const struct session *s, bool was_put_back)
{
    bool is_between = s->state == SESSION_IDLE || s->state == SESSION_CHECKPOINTING || was_put_back;
    return s->current != NULL ? RECOVERY_OF_CALL : is_between ? RECOVERY_BETWEEN : RECOVERY_OF_UNWINDING;
}

void session_action_handle_exit(struct session *s, struct event *e)
{
    session_count(s, METRIC_DEATHS);
    copies_drop_ahead(s);
    if (s->checkpoints.making != NULL)
        checkpoint_drop(s->checkpoints.making);
    bool is_put_back = has_not_begun(s);
    if (is_put_back)
        run_put_back(s);
    struct error_record *held = failure_take_held(s), *r = NULL;
    uint64_t died_at = s->at;
    recovery_begin(s, cause_of(s, is_put_back));
    if (s->current != NULL)
        r = record_of(s, e->end, held);
    if (held != NULL)
        died_at = failure_at_before(s); /* it is in the journal already, as stopped */
    else if (s->current != NULL)
        answer_write_journal(s, s->current, JOURNAL_DIED);
    error_record_free(held);
    failure_forget(s);
    recovery_of_death(s, r, e->end, died_at);
}
