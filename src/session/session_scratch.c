/*
 * Scratch copies: an operation that runs in a copy of a frozen error, or of the process itself. The copy is
 * thrown away, or, when a restart led to a success, becomes the process.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "session/session_internal.h"

#define COPY_MS 5000 /* for copying a frozen error */

static void on_scratch_reply(void *arg, struct sexp_document *reply)
{
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        session_note_scratch_tools(arg, tools);
    session_dispatch(arg, &(struct event){.kind = session_is_reply(reply, "error") ? EVENT_FAILED : EVENT_OK,
                                          .document = reply});
}

static void on_scratch_gone(void *arg, const struct child_end *end)
{
    session_dispatch(arg, &(struct event){.kind = EVENT_GONE, .end = end, .is_scratch = true});
}

struct error_record *session_find_error(struct session *s, int sequence)
{
    for (size_t i = 0; i < HISTORY; i++)
        if (s->history[i] != NULL && s->history[i]->sequence == sequence)
            return s->history[i];
    return NULL;
}

/* Make the copy in which the current operation is to run; it is the scratch copy. */
void session_ask_scratch(struct session *s)
{
    struct operation *op = s->current;
    struct error_record *r = op->sequence == 0 ? NULL : session_find_error(s, op->sequence);
    struct worker *host = op->sequence == 0 ? s->worker : r == NULL ? NULL : r->frozen;
    struct worker_events events = session_process_events(s);
    events.on_gone = on_scratch_gone;
    events.on_reply = on_scratch_reply;
    struct err err;
    if (r != NULL && r->why_not_frozen != NULL)
        err_set(&err, ERR_GONE, "This error cannot be entered: %s", r->why_not_frozen);
    else
        err_set(&err, ERR_GONE, "This error cannot be entered any more; list-errors says which can.");
    s->awaited = NULL;
    if (host != NULL && r != NULL && worker_state(host) == WORKER_BUSY) {
        s->awaited = r; /* its answer about the copy before is on the way */
        return;
    }
    if (host != NULL && worker_state(host) == WORKER_IDLE)
        s->scratch = session_fork_from(host, &events, &err);
    if (s->scratch != NULL)
        return;
    session_enter_state(s, SESSION_IDLE, 0);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = err.message});
    session_leave_scratch(s);
}

void session_begin_scratch(struct session *s, struct operation *op)
{
    session_take_up(s, op);
    session_enter_state(s, SESSION_COPYING, COPY_MS);
    session_ask_scratch(s);
}

void session_action_answered(struct session *s, struct event *e)
{
    const char *why = session_is_reply(e->document, "refused")
                          ? sexp_string(sexp_nth(sexp_root(e->document), 2), NULL)
                          : NULL;
    if (why != NULL) {
        free(s->why_no_checkpoint);
        s->why_no_checkpoint = xstrdup(why);
    }
    sexp_document_free(e->document);
}

void session_action_enter(struct session *s, struct event *e)
{
    (void)e;
    session_run_current(s);
}

/* The scratch copy is done for; what became of the session's own process meanwhile is looked at now. */
void session_leave_scratch(struct session *s)
{
    worker_free(s->scratch);
    s->scratch = NULL;
    if (worker_state(s->worker) == WORKER_GONE) {
        session_enter_state(s, SESSION_IDLE, 0);
        session_dispatch(s, &(struct event){.kind = EVENT_GONE, .end = &(struct child_end){0}});
    } else {
        session_settle_down(s); /* its answer about the scratch copy may be on the way */
    }
}

/* What runs in the copy of a frozen error went through: the copy is the process now, and the one of before a
 * checkpoint. */
void session_promote_scratch(struct session *s)
{
    session_retire(s);
    s->worker = s->scratch;
    s->scratch = NULL;
    struct worker_events events = session_process_events(s);
    worker_set_events(s->worker, &events);
    session_take_tools(s, &s->scratch_tools);
}

/* A scratch copy's failure: what ran there to resume stays where it stands, as a frozen error of its own. */
void session_scratch_failed(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_inside = sexp_count(sexp_get(r->condition, 2, "restarts")) > 0; /* not after a second interrupt */
    if (op->kind == OPERATION_RESUME && is_inside) {
        r->frozen = s->scratch;
        s->scratch = NULL;
        struct worker_events events = session_record_events(r);
        worker_set_events(r->frozen, &events);
    }
    if (s->stop != STOP_NONE)
        session_word_stop(s, r, false);
    session_write_journal(s, op, JOURNAL_ERROR);
    r->evaluation = s->evaluations; /* what was defined until now has been evaluated in it */
    session_deliver_error(s, op, r);
    session_leave_scratch(s);
}

void session_scratch_died(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (s->state == SESSION_COPYING) {
        const char *why = s->why_no_checkpoint != NULL
                              ? s->why_no_checkpoint
                              : "This needs a copy of the Lisp, which could not be made.";
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
        session_leave_scratch(s);
        return;
    }
    struct error_record *r = session_make_exit_record(s, e->end);
    r->session_note = xstrdup(
        op->sequence == 0
            ? "It died in a copy of the session, which itself is as it was."
            : "It died in a copy of the frozen error: the session and the frozen error are as they were.");
    session_write_journal(s, op, JOURNAL_DIED);
    session_deliver_error(s, op, r);
    session_leave_scratch(s);
}
