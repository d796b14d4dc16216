/*
 * Responsible for answering a call before its evaluation has ended.
 */
#include "calls/early_answer.h"

#include "calls/arguments.h"
#include "calls/evaluation_progress.h"
#include "calls/evaluation_wait.h"
#include "calls/evaluations.h"
#include "calls/reply_text.h"
#include "calls/tool_call.h"
#include "events/events.h"
#include "session/session.h"
#include "session/sessions.h"

/* Answer the call now. Its operation continues, and evaluation-status reports the result later. */
static void answer_early(struct tool_call *call, struct session *s, const struct session_evaluation *e,
                         const struct sexp *frames)
{
    struct evaluation *kept = evaluations_add(call->toolbox->evaluations, s, e);
    struct strbuf text = {0};
    events_add(call->toolbox->events, s, "job", NULL,
               json_pack("{s:I, s:s}", "evaluation", (json_int_t)e->number, "state", "detached"));
    evaluation_progress_add(&text, s, e, kept->seen, frames);
    strbuf_addf(
        &text,
        "\n\nIt continues without this call. evaluation-status (evaluation: %llu) shows new output and "
        "the result; cancel-evaluation stops it.",
        (unsigned long long)e->number);
    reply_text_redact(call, &text);
    tool_call_done *done = call->options.done;
    void *arg = call->options.arg;
    call->options.done = evaluations_on_done;
    call->options.on_progress = NULL;
    call->options.on_question = NULL;
    call->options.arg = kept;
    session_let_go(call->operation);
    done(arg, &(struct tool_result){.text = &text});
    strbuf_fini(&text);
}

static void start(struct tool_call *call);

static void on_waited(struct tool_call *call, const struct sexp *frames)
{
    struct session *s = sessions_find(call->toolbox->sessions, arguments_session_name(call));
    struct session_evaluation e;
    call->early_answer = NULL;
    if (session_is_asking(call->operation))
        start(call); /* a question belongs to a call */
    else if (s != NULL && session_evaluation(s, session_number(call->operation), &e))
        answer_early(call, s, &e, frames);
}

static void start(struct tool_call *call)
{
    call->early_answer = evaluation_wait(call, session_number(call->operation), UINT64_MAX,
                                         (uint64_t)(arguments_number(call, "wait", 0) * 1000), on_waited);
}

void early_answer_when_due(struct tool_call *call)
{
    if (call->toolbox->evaluations != NULL && arguments_has(call, "wait") &&
        session_number(call->operation) > 0)
        start(call);
}

void early_answer_forget(struct tool_call *call)
{
    evaluation_wait_cancel(call->early_answer);
    call->early_answer = NULL;
}
