/*
 * evaluation-status: evaluations that run or wait, and the results of those whose calls were answered early.
 */
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluation_progress.h"
#include "calls/evaluation_wait.h"
#include "calls/evaluations.h"
#include "calls/tool_call.h"
#include "report/section.h"
#include "session/session.h"
#include "session/sessions.h"

#define MOST_LISTED 200

static void add_ended(struct strbuf *out, struct session *s, const struct evaluation *e)
{
    strbuf_addf(out, "Evaluation %llu has ended after %.1f s.\n\n", (unsigned long long)e->number, e->took_s);
    section_add_marked(out, &e->text);
    if (s != NULL)
        evaluations_tell_less(s, e->number);
}

/* Answer with the current status of evaluation ${number}. */
static void answer(struct tool_call *call, uint64_t number, const struct sexp *frames)
{
    const char *session = arguments_session_name(call);
    struct session *s = arguments_session(call);
    struct evaluation *kept = evaluations_find(call->toolbox->evaluations, session, number);
    struct session_evaluation e;
    uint64_t unseen[2] = {0, 0};
    if (s != NULL && session_evaluation(s, number, &e)) {
        evaluation_progress_add(&call->text, s, &e, kept != NULL && !kept->has_ended ? kept->seen : unseen,
                                frames);
        call_finish(call);
    } else if (kept != NULL && kept->has_ended) {
        add_ended(&call->text, s, kept);
        call->structured = call->options.wants_structured ? json_incref(kept->structured) : NULL;
        call->is_error = kept->is_error;
        call_finish(call);
    } else {
        call_answer(
            call, false,
            "Evaluation %llu of session %s is not running, and no result of it is kept. The results of the "
            "last "
            "%d evaluations that outlived their call are kept; session-history lists all evaluations.",
            (unsigned long long)number, session, EVALUATIONS_KEPT);
    }
}

static void on_waited(struct tool_call *call, const struct sexp *frames)
{
    answer(call, call->step, frames);
    call_awaited(call);
}

static json_t *running_data(const struct session *s, const struct session_evaluation *e)
{
    return json_pack("{s:s, s:I, s:s, s:f, s:o}", "session", session_name(s), "number", (json_int_t)e->number,
                     "state",
                     e->is_asking    ? "asking"
                     : e->is_running ? "running"
                     : e->is_next    ? "next"
                                     : "waiting",
                     "seconds", e->elapsed_s, "code", json_stringn_nocheck(e->what, strlen(e->what)));
}

static void list_evaluations(struct tool_call *call)
{
    struct strbuf *out = &call->text;
    struct evaluations *all = call->toolbox->evaluations;
    struct session_evaluation e;
    size_t listed = 0, left_out = 0;
    json_t *data = json_array();
    for (struct session *s = sessions_first(call->toolbox->sessions); s != NULL; s = sessions_next(s)) {
        for (size_t n = 0; session_evaluation_at(s, n, &e); n++) {
            if (listed++ >= MOST_LISTED) {
                left_out++;
                break;
            }
            strbuf_addf(out, "%s%s: ", out->len > 0 ? "\n" : "", session_name(s));
            evaluation_progress_add_line(out, &e);
            if (call->options.wants_data)
                json_array_append_new(data, running_data(s, &e));
        }
    }
    const struct evaluation *kept;
    for (size_t n = 0; (kept = evaluations_at(all, n)) != NULL; n++) {
        if (!kept->has_ended)
            continue;
        strbuf_addf(out, "%s%s: Evaluation %llu has ended%s, result kept: %.*s", out->len > 0 ? "\n" : "",
                    kept->session, (unsigned long long)kept->number, kept->is_error ? " with an error" : "",
                    (int)strcspn(kept->what, "\n"), kept->what);
    }
    if (left_out > 0)
        strbuf_addf(out, "\n... more than %d", MOST_LISTED);
    if (out->len == 0)
        strbuf_adds(out, "No evaluation is running or waiting, and no result of an earlier one is kept.");
    call->structured = call->options.wants_data ? json_pack("{s:O}", "evaluations", data) : NULL;
    json_decref(data);
    call_finish(call);
}

static void evaluation_status(struct tool_call *call, struct session *s)
{
    uint64_t number = (uint64_t)arguments_integer(call, "evaluation", 0),
             wait_ms = (uint64_t)(arguments_number(call, "wait", 0) * 1000);
    struct session_evaluation e;
    bool goes_on = number > 0 ? session_evaluation(s, number, &e) : session_evaluation_at(s, 0, &e);
    number = goes_on ? e.number : number;
    const struct evaluation *kept = evaluations_find(call->toolbox->evaluations, session_name(s), number);
    if (number == 0 && kept == NULL) {
        call_answer(call, false,
                    "Nothing is running in session %s, and no result of an earlier evaluation is kept.",
                    session_name(s));
    } else if (!goes_on || (wait_ms == 0 && !evaluation_wait_asks(&e))) {
        answer(call, number > 0 ? number : kept->number, NULL);
    } else {
        bool is_alone = kept != NULL && !kept->has_ended;
        uint64_t printed = is_alone ? kept->seen[0] + kept->seen[1] : e.output_bytes;
        call->step = (size_t)number;
        call_await(call, evaluation_wait(call, number, printed, wait_ms, on_waited), evaluation_wait_cancel);
    }
}

/* A list makes no session. */
static void run(struct tool_call *call)
{
    if (arguments_boolean(call, "all")) {
        list_evaluations(call);
        return;
    }
    struct session *s = call_session(call);
    if (s != NULL)
        evaluation_status(call, s);
}

const struct tool tool_evaluation_status = {
    .name = "evaluation-status",
    .title = "Show evaluations",
    .description = "Show a running evaluation, or one that outlived its call: new output, result; or list "
                   "all.",
    .is_read_only = true,
    .arguments = {ARGUMENT("evaluation", INTEGER, "Default: the running one.", .minimum = 1,
                           .maximum = 1000000000, .excludes = "all"),
                  WAIT_ARGUMENT, ARGUMENT("all", BOOLEAN, ""), SESSION_ARGUMENT},
    .run = run,
};
