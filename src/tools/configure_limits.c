/*
 * configure-limits: show or change the limits of a session.
 */
#include "calls/look_up.h"
#include "session/records/limits.h"

static void on_noted(struct tool_call *call, const struct outcome *o)
{
    if (o->kind == OUTCOME_UNAVAILABLE || o->kind == OUTCOME_ERROR)
        strbuf_adds(&call->text,
                    "\nThe Lisp did not answer: thread-errors takes effect with the next evaluation.");
    call_finish(call);
}

/* Why a session lacks a limit, by whether it is an image that a person runs. */
static const char *const why_not[] = {
    "max-memory can be set only for an image that a person runs (attach). For other sessions, start the "
    "server with --max-memory. Nothing was changed.",
    "This session is an image that a person runs (attach): its heap was given to it when it was started, and "
    "it is never copied, so there is neither max-heap nor checkpoint-limit. Nothing was changed.",
};

static void run(struct tool_call *call, struct session *s)
{
    /* All or nothing: a copy is changed first. */
    struct limits changed = *session_limits(s);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const char *name = limit_definition((enum limit)i)->name;
        struct err err;
        if (!arguments_has(call, name))
            continue;
        if (!session_has_limit(s, (enum limit)i)) {
            call_answer(call, true, "%s", why_not[session_attached(s) != NULL]);
            return;
        }
        if (!limits_set(&changed, (enum limit)i, arguments_number(call, name, 0), &err)) {
            call_answer(call, true, "%s Nothing was changed.", err.message);
            return;
        }
    }
    *session_limits(s) = changed;
    strbuf_adds(&call->text, "Current limits:");
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        if (!session_has_limit(s, (enum limit)i))
            continue;
        strbuf_addf(&call->text, "\n  %s: %.10g%s%s", d->name, changed.value[i],
                    d->unit[0] != '\0' ? " " : "", d->unit);
        if (changed.value[i] == 0 && d->at_0 != NULL)
            strbuf_addf(&call->text, " (%s)", d->at_0);
    }
    if (arguments_has(call, "max-heap"))
        strbuf_adds(&call->text, "\nmax-heap takes effect when the session is next reset.");
    if (arguments_has(call, "thread-errors") && session_pid(s) > 0) {
        call->takes_unavailable = true;
        call_begin_request(call, "limit-thread-errors");
        call_write_integer(call, "count", limits_int(&changed, LIMIT_THREAD_ERRORS));
        look_up_whatever(call, s, on_noted);
    } else {
        call_finish(call);
    }
}

const struct tool tool_configure_limits = {
    .name = "configure-limits",
    .title = "Configure limits",
    .description = "Change limits of the session and show all.",
    .arguments = {ARGUMENT("timeout", NUMBER, ""), ARGUMENT("max-output", INTEGER, ""),
                  ARGUMENT("print-length", INTEGER, ""), ARGUMENT("print-level", INTEGER, ""),
                  ARGUMENT("max-heap", INTEGER, "MiB, from the next reset."),
                  ARGUMENT("checkpoint-limit", INTEGER, "Unnamed ones to keep."),
                  ARGUMENT("thread-errors", INTEGER, "Failed threads that wait."),
                  ARGUMENT("max-memory", INTEGER, "MiB."), SESSION_ARGUMENT},
    .run_in = run,
};
