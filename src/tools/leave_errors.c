/*
 * invoke-restart and restart-frame: continue from an error, where it stands or in a copy
 * made there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "calls/evaluations.h"
#include "events/event_text.h"
#include "events/events.h"
#include "report/reply.h"
#include "report/section.h"
#include "session/records/journal.h"
#include "session/records/snapshots.h"
#include "session/work/history.h"
#include "tools/enter_errors.h"
#include "tools/run_tests.h"

#define LEFT_SHOWN 5
#define LEFT_EXAMINED 50 /* the others are counted only */
#define LONGEST_LEFT 80

/* The forms that were not repeated, each by its first line. */
static void add_left(struct strbuf *out, const struct session *s, const struct sexp *left)
{
    const struct journal *journal = session_journal(s);
    size_t count = 0, examined = 0;
    for (size_t i = 0; i < sexp_count(left); i++) {
        const struct sexp *of = sexp_nth(left, i);
        int64_t evaluation = sexp_integer(sexp_nth(of, 0), 0);
        const struct journal_entry *e = evaluation <= 0 ? NULL : journal_find(journal, (uint64_t)evaluation);
        for (size_t k = 1; e != NULL && k < sexp_count(of); k++) {
            if (examined++ >= LEFT_EXAMINED) {
                count++;
                continue;
            }
            const struct sexp *piece = sexp_nth(of, k);
            int64_t from = sexp_integer(sexp_nth(piece, 0), 0), to = sexp_integer(sexp_nth(piece, 1), -1);
            size_t len;
            const char *code =
                journal_code_between(e, from < 0 ? 0 : (size_t)from, to < 0 ? SIZE_MAX : (size_t)to, &len);
            if (len == 0 || count++ >= LEFT_SHOWN)
                continue;
            strbuf_addf(out, "  %lld: ", (long long)evaluation);
            section_add_first_line(out, code, len, LONGEST_LEFT);
            strbuf_addc(out, '\n');
        }
    }
    if (count > LEFT_SHOWN)
        strbuf_addf(out, "  and %zu more\n", count - LEFT_SHOWN);
}

/* Explain what came of the code evaluated between the error and the restart: its definitions were
 * repeated, its other effects were not. */
static void add_what_stayed(const struct tool_call *call, const struct outcome *o, const struct sexp *left)
{
    struct strbuf text = {0};
    bool is_kept = snapshots_find(session_snapshots(o->session), call->step) != NULL;
    strbuf_addf(&text, "%s has the definitions evaluated since, but not the effects of:\n",
                o->kind == OUTCOME_ERROR ? "The restart ran in a copy that was made at the error. The copy"
                                         : "The session continues from the point of the error. It");
    add_left(&text, o->session, left);
    if (o->kind != OUTCOME_ERROR && is_kept)
        strbuf_addf(&text, "The state after evaluation %zu has these effects (rollback-session).\n",
                    call->step);
    else if (o->kind == OUTCOME_ERROR)
        strbuf_adds(&text, "Pass such forms as code to invoke-restart, which evaluates them first.\n");
    notices_addf(session_notices(o->session), "%s", strbuf_string(&text));
    strbuf_fini(&text);
}

static void on_resumed(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *reply = o->kind == OUTCOME_OK      ? o->reply
                               : o->kind == OUTCOME_ERROR ? o->error->condition
                                                          : NULL;
    const struct sexp *left = sexp_get(reply, 2, "left");
    enter_errors_note_unchanged(call, o);
    if (sexp_count(left) > 0)
        add_what_stayed(call, o, left);
    else if (o->kind == OUTCOME_ERROR && o->error->session_note == NULL)
        enter_errors_note_copy(o);
    if (!sexp_is_nil(sexp_get(reply, 2, "threads-began")) && sexp_count(sexp_get(reply, 2, "carried")) > 0)
        notices_addf(session_notices(o->session), "These definitions were evaluated again, so the threads "
                                                  "and other things that they start were started again.");
    if (o->kind == OUTCOME_OK && reply_flag(o->reply, "goes-on") && arguments_has(call, "restart"))
        call_answer(call, false, "Restart %s was invoked in the thread.",
                    arguments_string(call, "restart", NULL));
    else if (o->kind == OUTCOME_OK && reply_flag(o->reply, "goes-on"))
        call_answer(call, false, "The thread continues: frame %lld %s.",
                    (long long)arguments_integer(call, "frame", 0),
                    arguments_has(call, "values") ? "returned" : "was called again");
    else if (run_tests_is_result(o))
        run_tests_report(call, o);
    else
        call_report(call, o);
}

/* Have the agent continue from the error ${r}; ${how} describes this in the journal. The journal is a Lisp
 * file, so the description is a comment. */
static void go_on(struct tool_call *call, struct session *s, const struct error_record *r, const char *how)
{
    call_write_asks(call);
    call_write_integer(call, "number", r->sequence);
    /* If it stands in a thread, later definitions are already in that process. */
    if (!error_record_stands(r))
        /* Its definitions are evaluated again in the copy, so that a fix made in an ordinary call is there
         * when the computation continues. */
        history_write_since(session_journal(s), r->evaluation, &call->request);
    if (call->request.len > HISTORY_LONGEST_DEFINITIONS) {
        call_answer(call, true,
                    "The code evaluated since the error is too long to be evaluated again in a copy of it "
                    "(more than %zu bytes).",
                    HISTORY_LONGEST_DEFINITIONS);
        return;
    }
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    struct strbuf code = {0};
    strbuf_addf(&code, ";; %s ", call->tool->name);
    text_add_line(&code, how);
    strbuf_addf(&code, ", error %d", r->sequence);
    if (arguments_has(call, "code"))
        strbuf_addf(&code, "\n%s", arguments_string(call, "code", NULL));
    struct operation_options options = {
        .kind = OPERATION_CONTINUE,
        .sequence = r->sequence,
        .what = call->tool->name,
        .timeout_ms = arguments_timeout_ms(call),
        .keeps_record = true,
        .code = code.bytes,
        .code_len = code.len,
    };
    json_t *event = json_pack("{s:i}", "error", r->sequence);
    event_text_string(event, "restart", how, strlen(how));
    events_add(call->toolbox->events, s, "restart", &call->options.author, event);
    call->step = (size_t)session_at(s); /* the state that a success leaves behind */
    call_run(call, s, &options, on_resumed);
    strbuf_fini(&code);
}

/* Does ${given} mean the last restart of ${r}, the return to the top level? By name it does not if a restart
 * further in has that name too. */
static bool is_last_restart(const struct error_record *r, const char *given)
{
    const struct sexp *restarts = error_record_restarts(r);
    size_t count = sexp_count(restarts), named = 0;
    char *end;
    if (count > 0 && strtoull(given, &end, 10) == count && *end == '\0')
        return true;
    given += strspn(given, ":[");
    if (strcspn(given, "]") != strlen("ABORT") || strncasecmp(given, "ABORT", strlen("ABORT")) != 0)
        return false;
    bool is_last = false;
    for (size_t i = 0; i < count; i++) {
        const char *name = sexp_string(sexp_nth(sexp_nth(restarts, i), 0), NULL);
        is_last = name != NULL && strcmp(name, "ABORT") == 0;
        named += is_last;
    }
    return is_last && named == 1;
}

/* In a copy, a return to the top level would only take back what was evaluated since the error. */
static bool is_left_already(const struct error_record *r, const struct tool_call *call)
{
    return !r->stands_here && !error_record_stands(r) && !arguments_has(call, "code") &&
           is_last_restart(r, arguments_string(call, "restart", NULL));
}

static void invoke_restart(struct tool_call *call, struct session *s)
{
    const struct error_record *r = enter_errors_find(call, s);
    if (r != NULL && is_left_already(r, call))
        call_answer(call, false,
                    "The session has left error %d already and is at the top level. Nothing was changed; "
                    "rollback-session to %" PRIu64 " returns to the state that the error left behind.",
                    r->sequence, r->evaluation);
    else if (r != NULL)
        go_on(call, s, r, arguments_string(call, "restart", NULL));
}

static void leave_frame(struct tool_call *call, struct session *s)
{
    const struct error_record *r = enter_errors_find(call, s);
    char frame[64];
    bool is_return = arguments_has(call, "values");
    snprintf(frame, sizeof frame, "%s%" PRId64, is_return ? "return from " : "",
             arguments_integer(call, "frame", 0));
    call_begin_operation(call, is_return ? "return-from-frame" : "restart-frame");
    if (r != NULL)
        go_on(call, s, r, frame);
}

#define FIX_ARGUMENT ARGUMENT("code", STRING, "Evaluate this first, such as a fix.")

const struct tool tool_invoke_restart = {
    .name = "invoke-restart",
    .title = "Invoke a restart",
    .description = "Continue the computation from an error with a restart, using the definitions made "
                   "since: fix and continue.",
    RUNS_CODE,
    .arguments = {ARGUMENT("restart", STRING, "", .is_required = true),
                  ARGUMENT("value", STRING, "Form whose value it gets."), FIX_ARGUMENT, INDEX_ARGUMENT,
                  TIMEOUT_ARGUMENT, WAIT_ARGUMENT, FORCE_ARGUMENT, SESSION_ARGUMENT},
    .operation = "invoke-restart",
    .run_in = invoke_restart,
};

const struct tool tool_restart_frame = {
    .name = "restart-frame",
    .title = "Restart a frame",
    .description = "Continue from an error: call a stack frame's function again, as it is defined now, or "
                   "return values from the frame.",
    RUNS_CODE,
    .arguments = {ENTERED_FRAME_ARGUMENT,
                  ARGUMENT("arguments", STRING, "Forms for new arguments: (1+ n) nil.", .excludes = "values"),
                  ARGUMENT("values", STRING, "Return the values of this form instead.", .key = "value"),
                  FIX_ARGUMENT, INDEX_ARGUMENT, TIMEOUT_ARGUMENT, WAIT_ARGUMENT, FORCE_ARGUMENT,
                  SESSION_ARGUMENT},
    .run_in = leave_frame,
};
