/*
 * Responsible for unwinding an error: the states EXAMINING and UNWINDING.
 */
#include "session/errors/unwinding.h"

#include <stdio.h>

#include "session/core/core.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/work/answer.h"
#include "session/work/run.h"

#define LEAVE_MS 10000      /* to leave an error again: the agent may have to walk a large heap first */
#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */

static void abort_by(struct session *s, const char *request, int limit_ms, void (*then)(struct session *s))
{
    s->at_error.then = then;
    run_begin_work(s, SESSION_UNWINDING, limit_ms);
    process_call(s, request);
}

/* The session is in the state that the failed evaluation has left behind. */
static void then_keep_state(struct session *s)
{
    bool is_new = s->at_error.unwound != NULL && snapshots_find(&s->snapshots, s->at) == NULL;
    s->at_error.unwound = NULL;
    checkpointing_settle_down(s, is_new);
}

void unwinding_begin(struct session *s, struct error_record *r)
{
    s->at_error.unwound = r;
    abort_by(s, ":abort", s->host->waits.abort_ms, then_keep_state);
}

void unwinding_leave(struct session *s, void (*then)(struct session *s))
{
    abort_by(s, ":abort :again t", LEAVE_MS, then);
}

void unwinding_examine(struct session *s, struct error_record *r)
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
    unwinding_begin(s, r);
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
    if (session_is_reply(e->document, "error") && s->at_error.then == then_keep_state &&
        s->at_error.unwound != NULL)
        note_failed_cleanup(s, sexp_root(e->document));
    sexp_document_free(e->document);
    s->at_error.then(s);
}
