/*
 * Responsible for a scratch copy, from the request for it to its end.
 */
#include "session/scratch.h"

#include "base/memory.h"
#include "session/answer.h"
#include "session/checkpointing.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/eviction.h"
#include "session/exit_record.h"
#include "session/process.h"
#include "session/run.h"
#include "session/session_core.h"
#include "session/standing.h"
#include "session/thread_errors.h"

#define SCRATCH_MS 5000 /* for copying a frozen error */

static void on_scratch_reply(void *arg, struct sexp_document *reply)
{
    struct session *s = arg;
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        told_tools_set(&s->scratch_tools, tools, s->name);
    session_dispatch(
        s, &(struct event){.kind = session_is_reply(reply, "error") ? EVENT_SCRATCH_FAILED : EVENT_SCRATCH_OK,
                           .document = reply});
}

static void on_scratch_gone(void *arg, const struct child_end *end)
{
    session_dispatch(arg, &(struct event){.kind = EVENT_SCRATCH_GONE, .end = end});
}

static bool copy(struct session *s, struct worker *original, struct err *err)
{
    struct worker_events events = process_events(s);
    events.on_gone = on_scratch_gone;
    events.on_reply = on_scratch_reply;
    if (original == NULL || worker_state(original) != WORKER_IDLE)
        return false;
    session_enter_state(s, SESSION_COPYING, SCRATCH_MS);
    do
        s->scratch = copies_of(original, &events, err);
    while (s->scratch == NULL && err->code == ERR_LIMIT && eviction_for_copy(s));
    return s->scratch != NULL;
}

/* The process is where it was before; its answer about the scratch copy may be on its way. */
static void rest(struct session *s)
{
    if (s->standing != NULL)
        standing_resume(s);
    else
        checkpointing_settle_down(s);
}

static void refuse(struct session *s, const char *why)
{
    answer_unavailable(s, s->current, why);
    rest(s);
}

static void ask(struct session *s)
{
    struct operation *op = s->current;
    struct error_record *r = op->sequence == 0 ? NULL : error_history_find(&s->errors, op->sequence);
    struct worker *original = op->sequence == 0 ? s->worker : r == NULL ? NULL : r->frozen;
    if (original != NULL && r != NULL && worker_state(original) == WORKER_BUSY) {
        session_enter_state(s, SESSION_WAITING, SCRATCH_MS);
        return; /* its answer about the previous copy is on its way */
    }
    struct err err;
    if (r != NULL && error_record_why_not(r) != NULL)
        err_set(&err, ERR_GONE, "This error cannot be entered: %s", error_record_why_not(r));
    else
        err_set(&err, ERR_GONE, "This error can no longer be entered; list-errors shows which can.");
    if (!copy(s, original, &err))
        refuse(s, err.message);
}

/* The copy would replace a process that no checkpoint can hold. */
static bool would_lose_the_process(const struct session *s, const struct operation *op)
{
    return op->kind == OPERATION_RESUME && s->has_threads;
}

void scratch_begin(struct session *s, struct operation *op)
{
    run_take_up(s, op);
    if (would_lose_the_process(s, op)) {
        refuse(
            s,
            "Threads of the program run (list-threads), so the session cannot be copied. To continue in the "
            "copy of this error would end them, and what was done since could not be restored. "
            "evaluate-in-frame works in the copy. To continue there, end the threads first, or return to an "
            "earlier state (rollback-session).");
        return;
    }
    op->is_in_copy = true;
    ask(s);
}

void session_action_ask_scratch(struct session *s, struct event *e)
{
    (void)e;
    ask(s);
}

/* The frozen process does not respond. */
void session_action_drop_error(struct session *s, struct event *e)
{
    (void)e;
    struct error_record *r = error_history_find(&s->errors, s->current->sequence);
    if (r != NULL)
        error_record_drop_copy(r, "The copy of the process that stood in it did not answer.");
    ask(s);
}

void session_action_enter(struct session *s, struct event *e)
{
    (void)e;
    run_send(s);
}

/* The scratch copy is finished with. Handle what happened to the process meanwhile. */
static void leave(struct session *s)
{
    worker_free(s->scratch);
    s->scratch = NULL;
    if (worker_state(s->worker) == WORKER_GONE) {
        session_enter_state(s, SESSION_IDLE, 0);
        session_dispatch(s, &(struct event){.kind = EVENT_GONE, .end = &(struct child_end){0}});
    } else {
        rest(s);
    }
}

/* The restart succeeded: the copy becomes the process, and the old process a checkpoint. */
static void promote(struct session *s)
{
    checkpointing_retire(s);
    s->worker = s->scratch;
    s->scratch = NULL;
    struct worker_events events = process_events(s);
    worker_set_events(s->worker, &events);
    if (told_tools_take(&s->tools, &s->scratch_tools))
        session_tell(s, SESSIONS_TOOLS);
}

/* Code evaluated in the copy of an error may use streams that were open there. */
static void note_streams(struct session *s, const struct operation *op)
{
    const struct error_record *r = op->code.len == 0 ? NULL : error_history_find(&s->errors, op->sequence);
    if (r != NULL && r->severed != NULL)
        strbuf_addf(&s->notice, "Open at the error and closed in the copy: %s.\n", r->severed);
    if (r != NULL && r->files != NULL)
        strbuf_addf(&s->notice,
                    "Files open for writing at the error: %s. The session has left it since, and its cleanup "
                    "forms may have closed, renamed or deleted them.\n",
                    r->files);
}

/* The session continues from an error that a roll-back had undone. */
static void note_undone(struct session *s, const struct operation *op)
{
    const struct error_record *r = error_history_find(&s->errors, op->sequence);
    if (r != NULL && r->evaluation > 0 && !journal_is_live(&s->journal, r->evaluation))
        strbuf_addf(&s->notice,
                    "The session continues from the point of the error in evaluation %llu, which had been "
                    "undone: its effects are there again.\n",
                    (unsigned long long)r->evaluation);
}

static void answer_look(struct session *s, struct event *e, bool ok)
{
    struct operation *op = s->current;
    const struct sexp *reply = sexp_root(e->document);
    answer_keep_examination(s, &e->document);
    answer_deliver(
        s, op,
        &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply, .was_in_copy = true});
    sexp_document_free(e->document);
}

void session_action_finish_scratch(struct session *s, struct event *e)
{
    bool ok = session_is_reply(e->document, "ok");
    uv_timer_stop(s->timer);
    note_streams(s, s->current);
    if (ok && s->current->kind == OPERATION_RESUME) {
        note_undone(s, s->current);
        promote(s);
        thread_errors_note(s, sexp_root(e->document));
        session_action_finish(s, e);
        return;
    }
    answer_look(s, e, ok);
    leave(s);
}

/* A restart led to another error: the copy stays in it, as that error's frozen process. */
static void keep_where_it_stands(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    /* settled: it is the same error that the copy was made of */
    bool is_settled = !sexp_is_nil(sexp_get(r->condition, 2, "settled"));
    bool is_inside =
        sexp_count(sexp_get(r->condition, 2, "restarts")) > 0; /* absent after a second interrupt */
    op->keeps_record = op->keeps_record && !is_settled;
    if (op->kind == OPERATION_RESUME && is_inside && !is_settled) {
        r->frozen = s->scratch;
        s->scratch = NULL;
        struct worker_events events = copies_frozen_events(r);
        worker_set_events(r->frozen, &events);
    }
}

void session_action_fail_scratch(struct session *s, struct event *e)
{
    struct error_record *r = error_record_new(e->document);
    struct operation *op = s->current;
    r->session = s;
    note_streams(s, op);
    keep_where_it_stands(s, r);
    if (run_is_stopped(s))
        run_word_stop(s, r, false);
    answer_write_journal(s, op, JOURNAL_ERROR, r->condition);
    r->evaluation = s->evaluations; /* all definitions up to now were evaluated in it */
    answer_error(s, op, r);
    leave(s);
}

/* The process refused, or the copy ended at once. Beside threads what needs no error's copy runs in the
 * process itself. */
void session_action_refuse_scratch(struct session *s, struct event *e)
{
    (void)e;
    if (s->current->sequence == 0 && s->has_threads) {
        s->current->kind = OPERATION_RUN;
        run_put_back(s);
        leave(s);
        return;
    }
    const char *why = copies_why_not(s);
    answer_unavailable(s, s->current,
                       why != NULL ? why : "This needs a copy of the Lisp, which could not be made.");
    leave(s);
}

void session_action_end_scratch(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    struct error_record *r = exit_record_new(s, e->end);
    if (run_is_stopped(s) && s->state == SESSION_KILLING)
        run_word_stop(s, r, true);
    r->session_note = xstrdup(
        op->sequence == 0
            ? "It died in a copy of the session, which itself is as it was."
            : "It died in a copy of the frozen error: the session and the frozen error are as they were.");
    answer_write_journal(s, op, JOURNAL_DIED, NULL);
    answer_error(s, op, r);
    leave(s);
}
