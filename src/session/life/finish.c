/*
 * Responsible for operations that succeed, and for events that nothing follows.
 */
#include "base/check.h"
#include "base/log.h"
#include "session/core/core.h"
#include "session/errors/scratch.h"
#include "session/errors/standing.h"
#include "session/snapshots/checkpointing.h"
#include "session/work/answer.h"
#include "session/work/history.h"

/* A restart was invoked in an error of a thread of the program, which continues its work. */
static bool continues_thread(const struct sexp *reply)
{
    return !sexp_is_nil(sexp_get(reply, 2, "goes-on"));
}

/* The session is now in the state after this evaluation. */
static void count_evaluation(struct session *s, const struct operation *op, const struct sexp *reply)
{
    if (op->errors_met == 0 && !continues_thread(reply))
        answer_clear_error(s);
    answer_write_journal(s, op, JOURNAL_OK, reply);
    s->at = s->numbers.evaluations;
}

/* What a thread has printed since it continues is not of the call that made it continue. */
static void keep_output_of_thread(struct session *s)
{
    char bytes[4096];
    for (enum worker_stream stream = WORKER_STDOUT; stream <= WORKER_STDERR; stream++) {
        struct capture *printed = &s->output.streams[stream];
        size_t n;
        for (uint64_t at = 0; (n = capture_read(printed, at, bytes, sizeof bytes)) > 0; at += n)
            session_output_add(&s->output, false, stream, bytes, n);
    }
}

static void answer_finished(struct session *s, struct event *e, bool is_evaluation, bool still_stands)
{
    struct operation *op = s->current;
    const struct sexp *reply = sexp_root(e->document);
    bool ok = session_is_reply(e->document, "ok");
    if (still_stands) {
        standing_note_effects(s);
    } else {
        answer_note_package(s, reply);
        standing_continued(s);
    }
    answer_keep_examination(s, &e->document);
    if (continues_thread(reply))
        keep_output_of_thread(s);
    if (is_evaluation)
        count_evaluation(s, op, reply);
    else if (ok && op->sequence > 0)
        history_note_entry(s, op, reply);
    answer_deliver(s, op, &(struct outcome){.kind = ok ? OUTCOME_OK : OUTCOME_REFUSED, .reply = reply});
    sexp_document_free(e->document);
}

void session_action_finish(struct session *s, struct event *e)
{
    if (s->scratch != NULL && !scratch_finish(s, e))
        return; /* it has ended in a copy that was discarded */
    bool still_stands = standing_is_entry(s, sexp_root(e->document));
    bool is_evaluation =
        !still_stands && s->current->asked.keeps_record && session_is_reply(e->document, "ok");
    /* The session does not become idle before the answer is delivered: operations that the callback
     * submits wait until this function is done. */
    uv_timer_stop(s->clock.timer);
    answer_finished(s, e, is_evaluation, still_stands);
    checkpointing_settle_down(s, is_evaluation);
}

void session_action_wait(struct session *s, struct event *e)
{
}

void session_action_drop(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
}

void session_action_never(struct session *s, struct event *e)
{
    log_error("session %s: the event %s came in the state %s", s->id.name, session_event_texts[e->kind],
              session_state_texts[s->state]);
    CHECK(!"an event that this state cannot have");
}
