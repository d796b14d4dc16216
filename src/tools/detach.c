/*
 * Responsible for answering a call before its evaluation has ended.
 */
#include "tools/detach.h"

#include <stdlib.h>

#include "base/memory.h"
#include "proc/loop_handle.h"
#include "session/session.h"
#include "tools/evaluations.h"
#include "tools/events.h"
#include "tools/running.h"
#include "tools/running_frames.h"
#include "tools/tool_call.h"

struct detachment {
    struct tool_call *call;
    struct session *session;
    uv_timer_t *timer;
    struct running_frames *frames; /* they are being asked for; else NULL */
};

/* Answer the call now. Its operation continues, and evaluation-status reports the result later. */
static void detach(struct tool_call *call, struct session *s, const struct session_evaluation *e,
                   const struct sexp *frames)
{
    struct evaluation *kept = evaluations_add(call->toolbox->evaluations, s, e);
    struct strbuf text = {0};
    events_add(call->toolbox->events, s, "job", NULL,
               json_pack("{s:I, s:s}", "evaluation", (json_int_t)e->number, "state", "detached"));
    running_add(&text, s, e, kept->seen);
    if (running_frames_are_wanted(e))
        running_frames_add(&text, frames);
    strbuf_addf(
        &text,
        "\n\nIt continues without this call. evaluation-status (evaluation: %llu) shows new output and "
        "the result; cancel-evaluation stops it.",
        (unsigned long long)e->number);
    call_redact(call, &text);
    tool_call_done *done = call->done;
    void *arg = call->arg;
    call->done = evaluations_on_done;
    call->on_progress = NULL;
    call->on_question = NULL;
    call->arg = kept;
    session_let_go(call->operation);
    done(arg, &(struct tool_result){.text = &text});
    strbuf_fini(&text);
}

static void on_due(uv_timer_t *timer);

static void start(struct detachment *d)
{
    uv_timer_start(d->timer, on_due, (uint64_t)(call_number(d->call, "wait", 0) * 1000), 0);
}

static void on_frames(void *arg, const struct sexp *frames)
{
    struct detachment *d = arg;
    struct session_evaluation e;
    d->frames = NULL;
    if (session_is_asking(d->call->operation))
        start(d); /* a question belongs to a call */
    else if (session_evaluation(d->session, session_number(d->call->operation), &e))
        detach(d->call, d->session, &e, frames);
}

static void on_due(uv_timer_t *timer)
{
    struct detachment *d = timer->data;
    struct session_evaluation e;
    if (!session_is_asking(d->call->operation) &&
        session_evaluation(d->session, session_number(d->call->operation), &e) &&
        running_frames_are_wanted(&e))
        d->frames = running_frames_ask(timer->loop, d->session, on_frames, d);
    else
        on_frames(d, NULL);
}

void detach_when_due(struct tool_call *call, struct session *session)
{
    if (call->toolbox->evaluations == NULL || !call_has(call, "wait") || call->detachment != NULL ||
        session_number(call->operation) == 0)
        return;
    struct detachment *d = xcalloc(1, sizeof *d);
    d->call = call;
    d->session = session;
    d->timer = loop_handle_timer(evaluations_loop(call->toolbox->evaluations), d);
    start(d);
    call->detachment = d;
}

void detach_forget(struct tool_call *call)
{
    if (call->detachment != NULL) {
        running_frames_cancel(call->detachment->frames);
        loop_handle_free(call->detachment->timer);
        free(call->detachment);
    }
    call->detachment = NULL;
}
