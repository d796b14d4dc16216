/*
 * evaluate-in-frame and invoke-restart: step into an error whose process is frozen.
 */
#include <string.h>

#include "session/journal.h"
#include "tools/call.h"

/* The error meant: the last one, or one of the history. NULL, and the call answered, when it cannot be entered. */
static const struct error_record *enterable(struct tool_call *call, const struct session *s)
{
    size_t n = call_has(call, "index") ? (size_t)call_number(call, "index", 1) - 1 : 0;
    const struct error_record *r = call_has(call, "index") ? session_error(s, n) : session_last_error(s);
    if (r == NULL)
        call_answer(call, true, call_has(call, "index") ? "No error with that index is kept; list-errors shows them." : "No error available.\n(No error has occurred since the last successful evaluation; an older one is entered with index, see list-errors.)");
    else if (r->frozen == NULL)
        call_answer(call, true, "This error cannot be entered: %s", r->why_not_frozen != NULL ? r->why_not_frozen : "only the last five are kept in that form. Its text is still there: describe-last-error, get-backtrace.");
    else
        return r;
    return NULL;
}

static void add_string(struct strbuf *request, struct tool_call *call, const char *argument, const char *key)
{
    size_t len;
    const char *text = call_string(call, argument, &len);
    if (text == NULL)
        return;
    sexp_write_symbol(request, key);
    sexp_write_string(request, text, len);
}

static void evaluate_in_frame(struct tool_call *call)
{
    struct session *s = call_session(call);
    const struct error_record *r = s == NULL ? NULL : enterable(call, s);
    if (r == NULL)
        return;
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "evaluate-in-frame");
    sexp_write_symbol(&request, "frame");
    sexp_write_integer(&request, (int64_t)call_number(call, "frame", 0));
    add_string(&request, call, "code", "code");
    sexp_write_symbol(&request, "max-chars");
    sexp_write_integer(&request, 1 << 20);
    struct operation_options options = {.request = &request, .what = "evaluate-in-frame", .timeout_ms = (int)(call_number(call, "timeout", 0) * 1000)};
    call_enter(call, s, &options, r->sequence, false, call_report);
    strbuf_fini(&request);
}

/* What was defined since the error, so that the fix made in an ordinary call is there when the computation goes on. */
static void add_definitions(struct strbuf *request, const struct session *s, uint64_t since)
{
    sexp_write_symbol(request, "definitions");
    sexp_write_open(request);
    const struct journal *journal = session_journal(s);
    const struct journal_entry *entry;
    for (size_t i = 0; (entry = journal_at(journal, i)) != NULL; i++) {
        if (entry->evaluation <= since || entry->is_undone || entry->outcome == JOURNAL_DIED)
            continue;
        sexp_write_open(request);
        sexp_write_string(request, entry->code, entry->code_len);
        sexp_write_string(request, entry->package, strlen(entry->package));
        sexp_write_close(request);
    }
    sexp_write_close(request);
}

static void invoke_restart(struct tool_call *call)
{
    struct session *s = call_session(call);
    const struct error_record *r = s == NULL ? NULL : enterable(call, s);
    if (r == NULL)
        return;
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "invoke-restart");
    add_string(&request, call, "restart", "restart");
    add_string(&request, call, "value", "value");
    add_string(&request, call, "code", "code");
    add_definitions(&request, s, r->evaluation);
    sexp_write_symbol(&request, "max-chars");
    sexp_write_integer(&request, 1 << 20);
    size_t len;
    const char *code = call_string(call, "code", &len);
    struct operation_options options = {
        .request = &request,
        .what = "invoke-restart",
        .timeout_ms = (int)(call_number(call, "timeout", 0) * 1000),
        .keeps_record = true,
        .code = code,
        .code_len = len,
    };
    call_enter(call, s, &options, r->sequence, true, call_report);
    strbuf_fini(&request);
}

#define INDEX_ARGUMENT                                                                                         \
    {                                                                                                          \
        .name = "index", .type = ARGUMENT_INTEGER, .minimum = 1, .maximum = 32,                                \
        .description = "Which error, 1 for the newest, see list-errors; default: the last error."              \
    }

const struct tool tool_evaluate_in_frame = {
    .name = "evaluate-in-frame",
    .title = "Evaluate in a frame",
    .description = "Evaluate code where an error stands, with the local variables of a frame. Runs in a copy, so that nothing changes.",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = false,
    .is_open_world = true,
    .arguments =
        {
            {.name = "frame", .type = ARGUMENT_INTEGER, .is_required = true, .minimum = 0, .maximum = 1000, .description = "Number of the frame in get-backtrace."},
            {.name = "code", .type = ARGUMENT_STRING, .is_required = true, .description = "Forms that may use the frame's variables."},
            INDEX_ARGUMENT,
            TIMEOUT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = evaluate_in_frame,
};

const struct tool tool_invoke_restart = {
    .name = "invoke-restart",
    .title = "Invoke a restart",
    .description = "Go on from where an error stands, by one of its restarts, with what was defined since. If it succeeds the session goes on from there.",
    .toolset = TOOLSET_STANDARD,
    .is_destructive = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "restart", .type = ARGUMENT_STRING, .is_required = true, .description = "Its name or number."},
            {.name = "value", .type = ARGUMENT_STRING, .description = "Lisp form, evaluated, for a restart that takes a value."},
            {.name = "code", .type = ARGUMENT_STRING, .description = "Forms evaluated there first, e.g. the fix."},
            INDEX_ARGUMENT,
            TIMEOUT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = invoke_restart,
};
