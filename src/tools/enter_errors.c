/*
 * evaluate-in-frame, and finding the error to enter: where it stands, or in a copy made there. The tools that
 * leave an error are in leave_errors.c.
 */
#include "tools/enter_errors.h"

#include "report/reply.h"
#include "report/report.h"
#include "session/session.h"
#include "tools/look_up.h"

#define RESTARTS_NAMED 8

/* The indexes of the errors that can be entered. */
static void add_enterable(struct strbuf *out, const struct session *s)
{
    const char *before = " These can be entered, by index: ";
    size_t count = 0;
    for (size_t i = 0; i < session_error_count(s); i++)
        if (error_record_is_enterable(session_error(s, i)))
            strbuf_addf(out, "%s%zu", count++ == 0 ? before : ", ", i + 1);
    if (count > 0)
        strbuf_addc(out, '.');
}

/* The error with the given index, or the newest one of an evaluation. Errors of the program's threads are
 * entered only by their index. NULL if there is none. */
static const struct error_record *error_meant(struct tool_call *call, const struct session *s)
{
    if (call_has(call, "index"))
        return session_error(s, (size_t)call_integer(call, "index", 1) - 1);
    for (size_t i = 0; i < session_error_count(s); i++)
        if (session_error(s, i)->thread == NULL)
            return session_error(s, i);
    return NULL;
}

/* After an evaluation that succeeded, the error that is meant instead of ${r} may be that of a thread, which
 * is newer. Its index; 0: there is none. */
static size_t rival_of(const struct tool_call *call, const struct session *s, const struct error_record *r)
{
    if (r == NULL || call_has(call, "index") || session_last_error(s) != NULL || !call_takes(call, "index"))
        return 0;
    for (size_t i = 0; session_error(s, i) != r; i++)
        if (!session_error(s, i)->is_stray)
            return i + 1;
    return 0;
}

static void ask_for_index(struct tool_call *call, const struct session *s, const struct error_record *r,
                          size_t rival)
{
    size_t index = 1;
    while (session_error(s, index - 1) != r)
        index++;
    call_answer(
        call, true,
        "Pass index: error %zu is that of the thread %s (%s), error %zu that of the newest evaluation that "
        "failed (%s). list-errors shows all.",
        rival, session_error(s, rival - 1)->thread, session_error(s, rival - 1)->type, index, r->type);
}

const struct error_record *error_to_enter(struct tool_call *call, const struct session *s)
{
    const struct error_record *r = error_meant(call, s);
    size_t rival = rival_of(call, s, r);
    if (rival > 0) {
        ask_for_index(call, s, r, rival);
        return NULL;
    }
    if (r != NULL && error_record_is_enterable(r)) {
        call->since = (size_t)r->sequence;
        return r;
    }
    if (r == NULL) {
        call_answer(call, true,
                    call_has(call, "index")
                        ? "No error with that index is kept; see list-errors."
                        : "No error available.\n(No error has occurred in this session.)");
        return NULL;
    }
    strbuf_addf(&call->text, "This error cannot be entered: %s", report_why_not(r));
    add_enterable(&call->text, s);
    call_answer(call, true, "%s", "");
    return NULL;
}

void look_up_in_error(struct tool_call *call, struct session *s, call_outcome *on_outcome)
{
    const struct error_record *r = error_to_enter(call, s);
    if (r == NULL)
        return;
    call_enter(call, s,
               &(struct operation_options){
                   .what = call->tool->name, .timeout_ms = LOOK_UP_MS, .is_examination = true},
               r->sequence, false, on_outcome);
}

void error_note_unchanged(const struct tool_call *call, const struct outcome *o)
{
    if (o->kind != OUTCOME_ERROR || o->error->sequence > 0)
        return;
    for (size_t i = 0; i < session_error_count(o->session); i++) {
        const struct error_record *r = session_error(o->session, i);
        const struct sexp *restarts = reply_get(r->condition, "restarts");
        if ((size_t)r->sequence != call->since || !error_record_is_enterable(r))
            continue;
        struct strbuf text;
        strbuf_init(&text, 0);
        strbuf_addf(&text, "Error %zu, which was entered, is as it was: %s. Its restarts:", i + 1, r->type);
        for (size_t k = 0; k < sexp_count(restarts) && k < RESTARTS_NAMED; k++) {
            strbuf_addf(&text, "%s %zu. ", k == 0 ? "" : ",", k + 1);
            reply_add_string(&text, sexp_nth(sexp_nth(restarts, k), 0));
        }
        notices_addf(session_notices(o->session), "%s%s", strbuf_string(&text),
                     sexp_count(restarts) > RESTARTS_NAMED ? ", ..." : "");
        strbuf_fini(&text);
    }
}

/* get-backtrace shows no error after a success. Without an index this tool enters the newest all the same. */
static void note_which(const struct tool_call *call, struct session *s)
{
    if (call_has(call, "index") || session_last_error(s) != NULL)
        return;
    for (size_t i = 0; i < session_error_count(s); i++)
        if ((size_t)session_error(s, i)->sequence == call->since)
            notices_addf(session_notices(s),
                         "The last evaluation had no error; this is error %zu of list-errors: %s.", i + 1,
                         session_error(s, i)->type);
}

/* In the session's own process the evaluation has effects. */
static void on_evaluated(struct tool_call *call, const struct outcome *o)
{
    error_note_unchanged(call, o);
    if (o->was_in_copy && o->kind == OUTCOME_OK) {
        note_which(call, o->session);
        notices_addf(
            session_notices(o->session),
            "This ran in a copy of the process that was made at the error: the session is unchanged.");
    }
    call_report(call, o);
}

static void evaluate_in_frame(struct tool_call *call)
{
    struct session *s = call_begin(call, "evaluate-in-frame");
    const struct error_record *r = s == NULL ? NULL : error_to_enter(call, s);
    if (r == NULL)
        return;
    call_write_integer(call, "frame", call_integer(call, "frame", 0));
    call_write_string(call, "code");
    call_write_string(call, "package");
    call_write_asks(call);
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    struct operation_options options = {.what = "evaluate-in-frame", .timeout_ms = call_timeout_ms(call)};
    options.code = call_string(call, "code", &options.code_len);
    call_enter(call, s, &options, r->sequence, false, on_evaluated);
}

const struct tool tool_evaluate_in_frame = {
    .name = "evaluate-in-frame",
    .title = "Evaluate in a frame",
    .description = "Evaluate code in a frame of an error; it can set the frame's variables. After the next "
                   "evaluation it runs in a copy.",
    .search_hint = "debugger, local variables",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = false,
    .is_open_world = true,
    .arguments =
        {
            ENTERED_FRAME_ARGUMENT,
            {.name = "code",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "Forms, which can use the frame's variables."},
            {.name = "package",
             .is_rare = true,
             .type = ARGUMENT_STRING,
             .description = "Package to read in; default: that of the frame's function."},
            ENTERED_INDEX_ARGUMENT,
            RARE_TIMEOUT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = evaluate_in_frame,
};
