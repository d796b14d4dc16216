/*
 * Responsible for unwinding an error: the states from EXAMINING to FORCING.
 */
#include "session/unwinding.h"

#include <stdio.h>

#include "session/answer.h"
#include "session/checkpointing.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/process.h"
#include "session/session_core.h"

#define FRAMES_EXAMINED 100 /* docs/agent-protocol.md section 4 */

void unwinding_begin(struct session *s, struct error_record *r)
{
    s->unwound = r;
    session_enter_state(s, SESSION_ABORTING, s->host->waits.abort_ms);
    process_call(s, ":abort");
    if (r != NULL)
        copies_ask_ahead(s); /* of the state that the evaluation leaves behind */
}

void unwinding_examine(struct session *s, struct error_record *r)
{
    char request[64];
    s->unwound = r;
    snprintf(request, sizeof request, ":frames :from 0 :count %d :locals t", FRAMES_EXAMINED);
    session_enter_state(s, SESSION_EXAMINING, s->host->waits.examine_ms);
    process_call(s, request);
}

void session_action_abort(struct session *s, struct event *e)
{
    struct error_record *r = s->unwound;
    if (r != NULL && r->details == NULL && session_is_reply(e->document, "ok"))
        error_history_add_details(&s->errors, r, e->document);
    else
        sexp_document_free(e->document);
    unwinding_begin(s, r);
}

void session_action_settle(struct session *s, struct event *e)
{
    bool is_evaluation = s->unwound != NULL;
    s->unwound = NULL;
    if (e->document != NULL)
        answer_note_package(s, sexp_root(e->document));
    sexp_document_free(e->document);
    if (is_evaluation)
        checkpointing_keep_state(s);
    else
        checkpointing_settle_down(s);
}
