/*
 * evaluate-in-frame, and finding the error to enter: where it stands, or in a copy made there. The tools that
 * leave an error are in leave_errors.c.
 */
#include "tools/enter_errors.h"

#include "calls/look_up.h"
#include "report/reply.h"
#include "report/report.h"
#include "session/session.h"

#define RESTARTS_NAMED 8

const struct error_record *enter_errors_by_index(struct tool_call *call, const struct session *s)
{
    int number = (int)arguments_integer(call, "index", 0);
    const struct error_record *r = session_find_error(s, number), *newest = session_error(s, 0);
    if (r == NULL)
        call_answer(call, true, "Error %d %s; list-errors shows those that are kept.", number,
                    newest != NULL && number <= newest->sequence ? "is no longer kept"
                                                                 : "has not occurred in this session");
    return r;
}

/* The numbers of the errors that can be entered. */
static void add_enterable(struct strbuf *out, const struct session *s)
{
    const char *before = " Errors that can be entered: ";
    size_t count = 0;
    for (size_t i = 0; i < session_error_count(s); i++)
        if (error_record_is_enterable(session_error(s, i)))
            strbuf_addf(out, "%s%d", count++ == 0 ? before : ", ", session_error(s, i)->sequence);
    if (count > 0)
        strbuf_addc(out, '.');
}

/* The newest error of an evaluation. After an evaluation that succeeded, a newer one of the program's threads
 * may be meant, and is given in ${rival}: the newest that can be entered, or else the newest. */
static const struct error_record *error_meant(const struct tool_call *call, const struct session *s,
                                              const struct error_record **rival)
{
    const struct error_record *r;
    for (size_t i = 0; (r = session_error(s, i)) != NULL && r->thread != NULL; i++)
        if (!r->is_stray && session_last_error(s) == NULL && arguments_may_have(call, "index") &&
            (*rival == NULL || (error_record_is_enterable(r) && !error_record_is_enterable(*rival))))
            *rival = r;
    return r;
}

const struct error_record *enter_errors_find(struct tool_call *call, const struct session *s)
{
    const struct error_record *rival = NULL;
    const struct error_record *r =
        arguments_has(call, "index") ? enter_errors_by_index(call, s) : error_meant(call, s, &rival);
    if (rival != NULL && r != NULL && error_record_is_enterable(rival)) {
        call_answer(call, true,
                    "Pass index: error %d is that of the thread %s (%s), error %d that of the newest "
                    "evaluation that failed (%s). list-errors shows all.",
                    rival->sequence, rival->thread, rival->type, r->sequence, r->type);
        return NULL;
    }
    r = r == NULL ? rival : r;
    if (r != NULL && error_record_is_enterable(r)) {
        call->since = (size_t)r->sequence;
        return r;
    }
    if (r == NULL) {
        if (!arguments_has(call, "index"))
            call_answer(call, true, "No error available.\n(No error has occurred in this session.)");
        return NULL;
    }
    strbuf_addf(&call->text, "Error %d cannot be entered: %s", r->sequence, report_why_not(r));
    add_enterable(&call->text, s);
    call_answer(call, true, "%s", "");
    return NULL;
}

void enter_errors_examine(struct tool_call *call, struct session *s, const struct error_record *r,
                          call_outcome *on_outcome)
{
    call_run(call, s,
             &(struct operation_options){.kind = OPERATION_VISIT,
                                         .sequence = r->sequence,
                                         .what = call->tool->name,
                                         .timeout_ms = LOOK_UP_MS,
                                         .is_examination = true},
             on_outcome);
}

void enter_errors_look_up(struct tool_call *call, struct session *s, call_outcome *show)
{
    const struct error_record *r = enter_errors_find(call, s);
    if (r == NULL)
        return;
    enter_errors_examine(call, s, r, look_up_showing(call, show));
}

void enter_errors_note_unchanged(const struct tool_call *call, const struct outcome *o)
{
    if (o->kind != OUTCOME_ERROR || o->error->sequence > 0)
        return;
    const struct error_record *r = session_find_error(o->session, (int)call->since);
    if (r == NULL || !error_record_is_enterable(r))
        return;
    const struct sexp *restarts = reply_get(r->condition, "restarts");
    struct strbuf text = {0};
    strbuf_addf(&text, "Error %d, which was entered, is as it was: %s. Its restarts:", r->sequence, r->type);
    for (size_t k = 0; k < sexp_count(restarts) && k < RESTARTS_NAMED; k++) {
        strbuf_addf(&text, "%s %zu. ", k == 0 ? "" : ",", k + 1);
        reply_fill(&text, sexp_nth(restarts, k), "{0/  }");
    }
    notices_addf(session_notices(o->session), "%s%s", strbuf_string(&text),
                 sexp_count(restarts) > RESTARTS_NAMED ? ", ..." : "");
    strbuf_fini(&text);
}

/* get-backtrace shows no error after a success. Without an index this tool enters the newest all the same. */
static void note_which(const struct tool_call *call, struct session *s)
{
    const struct error_record *r = session_find_error(s, (int)call->since);
    if (!arguments_has(call, "index") && session_last_error(s) == NULL && r != NULL)
        notices_addf(session_notices(s), "The last evaluation had no error; this is error %d: %s.",
                     r->sequence, r->type);
}

void enter_errors_note_copy(const struct outcome *o)
{
    if (o->was_in_copy)
        notices_addf(
            session_notices(o->session),
            "This ran in a copy of the process that was made at the error: the session is unchanged.");
}

/* In the session's own process the evaluation has effects. */
static void on_evaluated(struct tool_call *call, const struct outcome *o)
{
    enter_errors_note_unchanged(call, o);
    if (o->was_in_copy && o->kind == OUTCOME_OK) {
        note_which(call, o->session);
        enter_errors_note_copy(o);
    }
    call_report(call, o);
}

static void evaluate_in_frame(struct tool_call *call, struct session *s)
{
    const struct error_record *r = enter_errors_find(call, s);
    if (r == NULL)
        return;
    call_write_asks(call);
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    struct operation_options options = {.kind = OPERATION_VISIT,
                                        .sequence = r->sequence,
                                        .what = "evaluate-in-frame",
                                        .timeout_ms = arguments_timeout_ms(call)};
    options.code = arguments_string(call, "code", &options.code_len);
    call_run(call, s, &options, on_evaluated);
}

const struct tool tool_evaluate_in_frame = {
    .name = "evaluate-in-frame",
    .title = "Evaluate in a frame",
    .description = "Evaluate code in a stack frame of an error, with its local variables.",
    .is_read_only = false,
    .is_open_world = true,
    .arguments = {ENTERED_FRAME_ARGUMENT,
                  ARGUMENT("code", STRING, "Forms that can use its variables.", .is_required = true),
                  ARGUMENT("package", STRING, ""), INDEX_ARGUMENT, TIMEOUT_ARGUMENT, FORCE_ARGUMENT,
                  SESSION_ARGUMENT},
    .operation = "evaluate-in-frame",
    .run_in = evaluate_in_frame,
};
