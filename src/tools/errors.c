/*
 * get-backtrace and list-errors: show errors that the server keeps. Only get-backtrace asks
 * the Lisp, for local variables and for the stack of a thread.
 */
#include "calls/look_up.h"
#include "report/report.h"
#include "tools/enter_errors.h"
#include "tools/threads.h"

/* Without an index, the last error unless an evaluation has succeeded since; with one, any that is kept.
 * False if that is missing: then the call has been answered. */
static bool choose(struct tool_call *call, const struct session *s, const struct error_record **r)
{
    bool is_chosen = arguments_integer(call, "index", 0) > 0;
    *r = is_chosen ? enter_errors_by_index(call, s) : session_last_error(s);
    return *r != NULL || !is_chosen;
}

static void describe_error(struct tool_call *call, struct session *s)
{
    const struct error_record *r;
    call->is_of_record = true;
    if (!choose(call, s, &r))
        return;
    report_last_error(&call->text, r);
    report_cut_whole(&call->text, s, (size_t)limits_int(session_limits(s), LIMIT_MAX_OUTPUT));
    call_finish(call);
}

static void show_backtrace(struct tool_call *call, const struct error_record *r)
{
    size_t from = (size_t)arguments_integer(call, "from", 0),
           count = (size_t)arguments_integer(call, "max-frames", 20);
    report_backtrace(&call->text, r, from, count, arguments_boolean(call, "locals"));
    if (!call->options.wants_data || r == NULL)
        return;
    const struct sexp *frames = error_record_frames(r);
    size_t kept = sexp_count(frames);
    call->structured =
        report_data_frames(frames, from, from < kept && count < kept - from ? from + count : kept, from);
}

/* Why the Lisp has read no more of the error. */
static void add_failure(struct tool_call *call, const struct outcome *o)
{
    strbuf_adds(&call->text, "\n(The Lisp could not read more: ");
    if (o->kind == OUTCOME_ERROR)
        strbuf_addf(&call->text, "%s", o->error->message);
    else if (o->kind == OUTCOME_REFUSED)
        reply_add_string(&call->text, sexp_nth(o->reply, 2));
    else
        strbuf_adds(&call->text, o->why == NULL ? "it did not answer." : o->why);
    strbuf_addc(&call->text, ')');
}

/*
 * Frames with locals are in the record now, others only in the reply. Show the error that was chosen when the
 * call came: another error, or a success, may have followed.
 */
static void on_examined(struct tool_call *call, const struct outcome *o)
{
    const struct error_record *r = session_find_error(o->session, (int)call->step);
    if (o->kind == OUTCOME_OK && !arguments_boolean(call, "locals")) {
        look_up_add_frames(call, reply_get(o->reply, "frames"), reply_integer(o->reply, "total"));
    } else {
        show_backtrace(call, r);
        if (o->kind != OUTCOME_OK)
            add_failure(call, o);
    }
    call_finish(call);
}

static void on_running_frames(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *outcome = reply_get(o->reply, "outcome");
    if (sexp_is_symbol(outcome, "done"))
        look_up_add_frames(call, reply_get(o->reply, "frames"), reply_integer(o->reply, "total"));
    else if (sexp_is_symbol(outcome, "idle")) /* it has ended meanwhile */
        show_backtrace(call, session_last_error(o->session));
    else
        strbuf_adds(&call->text, "There is no backtrace: the thread of the evaluation did not react within a "
                                 "second, or printing took more than three. Try again, or without locals.");
}

static void show_running(struct tool_call *call, struct session *s)
{
    look_up_frames(call, "running-frames", arguments_integer(call, "from", 0),
                   arguments_integer(call, "max-frames", 20));
    look_up(call, s, on_running_frames);
}

/* An evaluation that is about to begin is waited for. */
static bool is_running(const struct session *s)
{
    struct session_evaluation e;
    return session_evaluation_at(s, 0, &e) && (e.is_running || e.is_next);
}

#define FRAMES_SENT 100    /* with the report of an error: docs/agent-protocol.md section 4 */
#define FRAMES_WALKED 1000 /* the Lisp goes no further */

static int64_t frames_wanted(const struct tool_call *call)
{
    int64_t end = arguments_integer(call, "from", 0) + arguments_integer(call, "max-frames", 20);
    return end < FRAMES_SENT ? FRAMES_SENT : end > FRAMES_WALKED ? FRAMES_WALKED : end;
}

/* Of a deep stack the report of the error has the first frames only. */
static bool is_more_wanted(const struct tool_call *call, const struct error_record *r)
{
    int64_t kept = (int64_t)sexp_count(error_record_frames(r)), total = error_record_total_frames(r);
    int64_t known = total < 0 ? FRAMES_WALKED : total;
    return (arguments_boolean(call, "locals") && r->details == NULL) ||
           (kept < known && kept < frames_wanted(call) && frames_wanted(call) > FRAMES_SENT);
}

static void get_backtrace(struct tool_call *call, struct session *s)
{
    call->is_of_record = true;
    if (arguments_has(call, "thread")) {
        threads_show_backtrace(call, s);
        return;
    }
    if (!arguments_has(call, "index") && is_running(s)) {
        show_running(call, s);
        return;
    }
    const struct error_record *r;
    if (!choose(call, s, &r))
        return;
    if (r != NULL && is_more_wanted(call, r) &&
        (error_record_is_enterable(r) || r->why_not.kind != FACT_NONE) &&
        (r->thread == NULL || error_record_stands(r))) {
        /* Its turn comes when the error is unwound; by then either a copy can be asked, or the locals have
         * been read. */
        call->takes_unavailable = call->takes_refusal = true;
        call->step = (size_t)r->sequence;
        /* With locals all are read, and kept. */
        int64_t from = arguments_boolean(call, "locals") ? 0 : arguments_integer(call, "from", 0);
        int64_t count = frames_wanted(call) - from;
        look_up_frames(call, "frames", from, count > 0 ? count : 0);
        enter_errors_examine(call, s, r, on_examined);
        return;
    }
    show_backtrace(call, r);
    call_finish(call);
}

#define FEW_ERRORS 6

/* In a joined image errors are many, and no copy keeps those that are past. */
static void add_list(struct tool_call *call, struct session *s)
{
    report_error_list(&call->text, s, (size_t)arguments_integer(call, "limit", 10),
                      session_attached(s) != NULL && !arguments_has(call, "limit") &&
                          session_error_count(s) > FEW_ERRORS);
}

static void on_inbox(struct tool_call *call, const struct outcome *o)
{
    add_list(call, o->session);
    call_finish(call);
}

/* Threads may have failed since the last reply, so an idle process is asked first. One that is busy tells of
 * them when it answers. */
static void list_errors(struct tool_call *call, struct session *s)
{
    if (arguments_has(call, "index")) {
        describe_error(call, s);
        return;
    }
    if (session_may_have_news(s)) {
        call->takes_unavailable = true;
        call_begin_request(call, "session-info"); /* its reply tells of them, as most do */
        look_up_whatever(call, s, on_inbox);
        return;
    }
    add_list(call, s);
    call_finish(call);
}

const struct tool tool_get_backtrace = {
    .name = "get-backtrace",
    .title = "Show the backtrace",
    .description = "Show the stack frames of the last error, the running evaluation or a thread, with "
                   "local variables if asked.",
    .is_read_only = true,
    .arguments = {ARGUMENT("max-frames", INTEGER, "", .minimum = 1, .maximum = 1000),
                  ARGUMENT("from", INTEGER, "", .minimum = 0, .maximum = 100000),
                  ARGUMENT("locals", BOOLEAN, ""),
                  ARGUMENT("index", INTEGER, "Of the error; default: the last.", .minimum = 1,
                           .maximum = 1000000000, .is_servers = true),
                  ARGUMENT("thread", STRING, "Show this thread instead.", .excludes = "index"),
                  SESSION_ARGUMENT},
    .run_in = get_backtrace,
};

const struct tool tool_list_errors = {
    .name = "list-errors",
    .title = "List errors",
    .description = "List errors, newest first, also of threads, with their index; or describe one: "
                   "message, restarts, top frames.",
    .is_read_only = true,
    .arguments = {ARGUMENT("index", INTEGER, "Describe this one; 0: the last.", .minimum = 0,
                           .maximum = 1000000000, .is_servers = true),
                  ARGUMENT("limit", INTEGER, "", .minimum = 1, .maximum = 32), SESSION_ARGUMENT},
    .run_in = list_errors,
};
