/*
 * Responsible for a scratch copy, from the request for it to its end.
 */
#include "session/errors/scratch.h"

#include "base/memory.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/core/wording.h"
#include "session/errors/exit_record.h"
#include "session/process/process.h"
#include "session/process/thread_errors.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/run.h"

#define SCRATCH_MS 5000 /* for copying a snapshot or the process */

static void on_scratch_reply(void *arg, struct sexp_document *reply)
{
    struct session *s = arg;
    const struct sexp *tools = sexp_get(sexp_root(reply), 2, "tools");
    if (tools != NULL)
        process_read_tools(s, tools);
    bool is_error = session_is_reply(reply, "error");
    session_dispatch(s, &(struct event){.kind = is_error ? EVENT_FAILED : EVENT_OK, .document = reply});
}

static void on_scratch_gone(void *arg, const struct child_end *end)
{
    session_dispatch(arg, &(struct event){.kind = EVENT_GONE, .end = end});
}

/* ${sn}: NULL: the process itself is copied. */
static bool copy(struct session *s, struct snapshot *sn, struct err *err)
{
    struct worker_events events = process_events(s);
    events.on_gone = on_scratch_gone;
    events.on_reply = on_scratch_reply;
    session_enter_state(s, SESSION_SCRATCH, SCRATCH_MS);
    s->snapshots.source = sn; /* it must not give way to its own copy */
    s->scratch = copies_of(s, sn == NULL ? s->worker : sn->worker, &events, eviction_for_copy, err);
    s->snapshots.source = NULL;
    return s->scratch != NULL;
}

/* Nothing was asked for. The next operation has its turn from the loop: thousands may be refused in a row. */
static void await_turn(struct session *s)
{
    session_enter_rest(s);
    session_later(s);
}

/* ${r} may be NULL: it is no longer kept. */
static void answer_not_entered(struct session *s, const struct error_record *r)
{
    const char *why = r == NULL ? NULL : s->host->options.wording->sentence(error_record_why_not(r));
    answer_fact(s, s->current,
                FACT(why == NULL ? FACT_NO_LONGER_ENTERABLE : FACT_CANNOT_BE_ENTERED, .texts = {why}));
}

static void refuse(struct session *s, const char *why)
{
    answer_unavailable(s, s->current, why);
    await_turn(s);
}

static void ask(struct session *s)
{
    struct operation *op = s->current;
    struct err err;
    const struct error_record *r = op->sequence == 0 ? NULL : error_history_find(&s->errors, op->sequence);
    struct snapshot *sn = r == NULL ? NULL : r->snapshot;
    if (op->sequence > 0 && sn == NULL) {
        answer_not_entered(s, r);
        await_turn(s);
    } else if (!copy(s, sn, &err)) {
        refuse(s, err.message);
    }
}

/* The copy would replace a process of which there can be no snapshot. */
static bool would_lose_the_process(const struct session *s, const struct operation *op)
{
    return op->kind == OPERATION_CONTINUE && s->flags.has_threads;
}

void scratch_begin(struct session *s, struct operation *op)
{
    run_take_up(s, op);
    if (op->sequence == 0 && s->place.joined.address != NULL) {
        op->kind = OPERATION_RUN;
        run_send(s);
        return;
    }
    if (would_lose_the_process(s, op)) {
        refuse(s, session_sentence(s, FACT_THREADS_IN_THE_WAY));
        return;
    }
    op->is_in_copy = true;
    ask(s);
}

void session_action_enter(struct session *s, struct event *e)
{
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
        checkpointing_settle_down(s, false); /* its answer about the copy may be on its way */
    }
}

/* The restart succeeded: the copy becomes the process, and the old process a snapshot. */
static void promote(struct session *s)
{
    checkpointing_retire(s);
    s->worker = s->scratch;
    s->scratch = NULL;
    struct worker_events events = process_events(s);
    worker_set_events(s->worker, &events);
    process_take_tools(s);
}

/* Code evaluated in the copy of an error may use streams that were open there. */
static void note_streams(struct session *s, const struct operation *op)
{
    const struct error_record *r = op->code.len == 0 ? NULL : error_history_find(&s->errors, op->sequence);
    const struct snapshot *sn = r == NULL ? NULL : r->snapshot;
    if (sn != NULL && sn->severed != NULL)
        session_notify(s, FACT(FACT_STREAMS_CLOSED, .texts = {sn->severed}));
    if (sn != NULL && sn->files != NULL)
        session_notify(s, FACT(FACT_FILES_OPEN, .texts = {sn->files}));
}

/* The session continues from an error that a roll-back had undone. */
static void note_undone(struct session *s, const struct operation *op)
{
    const struct error_record *r = error_history_find(&s->errors, op->sequence);
    if (r != NULL && r->evaluation > 0 && !journal_is_live(&s->journal, r->evaluation))
        session_notify(s, FACT(FACT_CONTINUES_UNDONE, .numbers = {r->evaluation}));
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

bool scratch_finish(struct session *s, struct event *e)
{
    bool ok = session_is_reply(e->document, "ok");
    uv_timer_stop(s->clock.timer);
    note_streams(s, s->current);
    if (ok && s->current->kind == OPERATION_CONTINUE) {
        note_undone(s, s->current);
        promote(s);
        thread_errors_note(s, sexp_root(e->document));
        return true;
    }
    thread_errors_note_in_copy(s, sexp_root(e->document));
    answer_look(s, e, ok);
    leave(s);
    return false;
}

/* A restart led to another error: the copy stays in it, as the snapshot of that error. */
static void keep_where_it_stands(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    /* settled: it is the same error that the copy was made of */
    bool is_settled = !sexp_is_nil(sexp_get(r->condition, 2, "settled"));
    bool is_inside =
        sexp_count(sexp_get(r->condition, 2, "restarts")) > 0; /* absent after a second interrupt */
    op->asked.keeps_record = op->asked.keeps_record && !is_settled;
    if (op->kind == OPERATION_CONTINUE && op->asked.keeps_record && is_inside) {
        struct snapshot *sn = copies_adopt(s, s->scratch, s->numbers.evaluations + 1);
        s->scratch = NULL;
        sn->is_aside = true; /* the session stays where it is */
        snapshot_stands_in(sn, r);
    }
}

void scratch_fail(struct session *s, struct error_record *r)
{
    struct operation *op = s->current;
    note_streams(s, op);
    thread_errors_note_in_copy(s, r->condition);
    keep_where_it_stands(s, r);
    run_note_stop(s, r);
    answer_write_journal(s, op, JOURNAL_ERROR, r->condition);
    r->evaluation = s->numbers.evaluations; /* all definitions up to now were evaluated in it */
    answer_error(s, op, r);
    leave(s);
}

/* The original refused or does not answer, or the copy ended at once. */
void session_action_refuse_scratch(struct session *s, struct event *e)
{
    if (s->current->sequence == 0 && s->flags.has_threads) {
        /* With threads running, run it in the process itself. */
        s->current->kind = OPERATION_RUN;
        s->current = NULL;
        leave(s);
        return;
    }
    struct error_record *r = error_history_find(&s->errors, s->current->sequence);
    if (e->kind == EVENT_DEADLINE && r != NULL && r->snapshot != NULL)
        snapshot_drop(r->snapshot, FACT_COPY_SILENT);
    const char *why = s->copies.why_not;
    if (s->current->sequence > 0 && (r == NULL || !error_record_is_enterable(r)))
        answer_not_entered(s, r);
    else
        answer_unavailable(s, s->current,
                           s->current->sequence == 0 && why != NULL ? why
                                                                    : session_sentence(s, FACT_NEEDS_COPY));
    leave(s);
}

void scratch_end(struct session *s, const struct child_end *end)
{
    struct operation *op = s->current;
    struct error_record *r = exit_record_new(s, end);
    r->session_note =
        xstrdup(session_sentence(s, op->sequence == 0 ? FACT_DIED_IN_COPY : FACT_DIED_IN_ERROR_COPY));
    answer_write_journal(s, op, JOURNAL_DIED, NULL);
    answer_error(s, op, r);
    leave(s);
}
