/*
 * The escalation by which an operation is stopped: interrupt, one step, interrupt again, one step, kill.
 * Unwinding has a step of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "session/session_internal.h"

void session_action_keep(struct session *s, struct event *e)
{
    session_note_copy(s, e);
    sexp_document_free(e->document);
    s->started_at = uv_now(s->host->loop);
    s->kill_at = s->started_at + 2 * (uint64_t)s->host->waits.step_ms;
    session_enter_state(s, s->state,
                        s->state == SESSION_RUNNING ? s->running_timeout_ms : s->host->waits.step_ms);
}

void session_action_interrupt(struct session *s, struct event *e)
{
    bool has_begun = worker_has_begun(session_runner(s));
    if (!has_begun && e->kind == EVENT_DEADLINE) {
        session_action_kill(s, e); /* the process does not answer for the copy before */
        return;
    }
    s->stop = e->kind == EVENT_CANCEL ? STOP_CANCEL : STOP_TIMEOUT;
    s->interrupts = 1;
    s->kill_at = uv_now(s->host->loop) + 2 * (uint64_t)s->host->waits.step_ms;
    session_enter_state(s, SESSION_INTERRUPTING, has_begun ? s->host->waits.step_ms : FREEZE_MS);
    worker_interrupt(session_runner(s)); /* one that has not begun is stopped when it does */
}

void session_action_insist(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    session_enter_state(s, SESSION_INSISTING, s->host->waits.step_ms);
    worker_interrupt(session_runner(s));
}

void session_action_kill(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    if (session_runner(s) == NULL) {
        /* CHECKING, and the checkpoint has not even made a copy. */
        if (s->source != NULL)
            checkpoint_drop(s->source);
        s->source = NULL;
        session_go_back(s);
        return;
    }
    if (s->awaited != NULL) {
        /* COPYING, and the frozen process does not come up: it is of no use. */
        error_record_drop_copy(s->awaited);
        session_ask_scratch(s);
        return;
    }
    session_enter_state(s, SESSION_KILLING, 0);
    worker_kill(
        session_runner(s)); /* GONE may have happened when this returns, if the process has no number yet */
}

void session_action_hurry(struct session *s, struct event *e)
{
    (void)e;
    session_enter_state(s, SESSION_HURRYING, s->host->waits.step_ms);
    worker_interrupt(s->worker);
}

void session_action_force(struct session *s, struct event *e)
{
    (void)e;
    s->interrupts = 2;
    session_enter_state(s, SESSION_FORCING, s->host->waits.step_ms);
    worker_interrupt(s->worker);
}

/* "2", "0.5", "30": without the zeros of a fixed format. */
static const char *seconds(int ms, char *out, size_t size)
{
    snprintf(out, size, "%.10g", ms / 1000.0);
    return out;
}

/* The words of a stopped operation: what stopped it, which step of the escalation worked, what to do about
 * it. */
void session_word_stop(struct session *s, struct error_record *r, bool was_killed)
{
    char number[32];
    struct strbuf b;
    strbuf_init(&b, 0);
    free(r->type);
    r->type = xstrdup(s->stop == STOP_TIMEOUT ? "TIMEOUT" : "CANCELLED");
    if (s->stop == STOP_TIMEOUT)
        strbuf_addf(&b, "The evaluation was stopped at its time limit of %s s.",
                    seconds(s->running_timeout_ms, number, sizeof number));
    else
        strbuf_addf(&b, "The evaluation was cancelled after %s s.",
                    seconds((int)(uv_now(s->host->loop) - s->started_at), number, sizeof number));
    if (was_killed)
        strbuf_adds(&b, " It did not give way to two interrupts, so its process was killed.");
    else if (s->interrupts > 1)
        strbuf_adds(&b, " It gave way to the second interrupt; the session is intact.");
    else
        strbuf_adds(&b, " It was interrupted where it was; the session is intact.");
    /* A look into the image has a limit that nobody sets. */
    bool is_look = s->current != NULL && !s->current->keeps_record;
    if (s->stop == STOP_TIMEOUT && !is_look) {
        strbuf_adds(&b, "\nFor more time give this call a longer timeout, or set one for the session with "
                        "configure-limits.");
        if (r->frozen != NULL || r->standing > 0)
            strbuf_adds(&b, "\ninvoke-restart CONTINUE goes on from where it was stopped.");
    }
    free(r->message);
    r->message = strbuf_steal(&b, NULL);
}
