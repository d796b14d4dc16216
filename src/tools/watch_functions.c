/*
 * trace-functions: recording or counting calls while the program makes them. Starting,
 * stopping and clearing change the session's image and count as evaluations, so that the state is kept; the
 * reports only look.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "calls/look_up.h"
#include "report/section.h"

#define MOST_RECORDS 2000
#define DEEPEST_INDENT 40

static void add_changes(struct strbuf *out, const struct sexp *reply, const char *doing)
{
    static const struct {
        const char *key, *since, *names;
    } changes[] = {{"started", "Now", "{started*, |{/  }}.\n"},
                   {"already", "Already", "{already*, |{}}.\n"},
                   {"stopped", "No longer", "{stopped*, |{}}.\n"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        if (sexp_count(reply_get(reply, changes[i].key)) == 0)
            continue;
        strbuf_addf(out, "%s %s: ", changes[i].since, doing);
        reply_fill(out, reply, changes[i].names);
    }
    reply_fill(
        out, reply,
        "{standard?Calls of standard functions are not seen if they are inlined or come from inside the "
        "Lisp.\n}"
        "{inlined?Inlined calls are not seen; there may be some of: {inlined*, |{}}.\n}"
        "{problems*|{1}\n}");
    if (out->len == 0)
        strbuf_addf(out, "No functions were %s.", doing);
}

static void add_watched(struct strbuf *out, const struct sexp *reply, const char *doing, const char *unit)
{
    strbuf_addf(out, "Functions %s: %zu\n", doing, sexp_count(reply_get(reply, "watched")));
    reply_fill(out, reply, "{watched*|- {/  }\n}");
    if (unit == NULL)
        return;
    strbuf_addf(out, "%s recorded.", text_count(reply_count(reply, "made"), unit).text);
}

/* (KIND DEPTH THREAD TEXT TEXTS) */
static void add_record(struct strbuf *out, const struct sexp *record)
{
    int64_t depth = sexp_integer(sexp_nth(record, 1), 0);
    int indent = depth < 0 ? 0 : depth > DEEPEST_INDENT ? DEEPEST_INDENT : (int)depth;
    strbuf_addf(out, "%*s%" PRId64 ": ", 2 * indent, "", depth);
    reply_fill(out, record,
               "{2?[{2}] }{3}{0=return? => {4*, |{}}{4!no values}}"
               "{0=exit? exited without returning{4*|{?; signalled: {}}}}\n");
}

static void add_trace(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *records = reply_get(reply, "records");
    uint64_t count = sexp_count(records), made = reply_count(reply, "made");
    uint64_t kept = reply_count(reply, "kept");
    if (made == 0) {
        strbuf_adds(out, "No calls were recorded.");
        return;
    }
    reply_fill(out, reply,
               count < made ? "Trace: the last {,records} of {#made record}" : "Trace: {#made record}");
    reply_fill(out, reply, kept < made ? ", of which {,kept} are kept\n" : "\n");
    for (size_t i = 0; i < count; i++)
        add_record(out, sexp_nth(records, i));
    section_end(out);
}

/* (NAME CALLS SELF-US TOTAL-US BYTES) */
static void add_tallies(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *tallies = reply_get(reply, "tallies");
    uint64_t count = sexp_count(tallies), called = reply_count(reply, "called");
    if (count == 0) {
        reply_fill(out, reply, "{uncalled?No calls were recorded.\n}{uncalled!No functions are profiled.}");
    } else {
        strbuf_addf(out, "%14s %14s %12s %14s  %s\n", "self ms", "total ms", "calls", "bytes", "function");
        reply_fill_each(out, tallies, "{2:14ms}{3:15ms}{1:13}{4:15}  {0}\n");
        if (count < called)
            strbuf_addf(out, "%s left out.\n", text_count(called - count, "more function").text);
        strbuf_adds(out, "Times are real time. Self excludes the other functions listed; total counts "
                         "outermost calls only.\n");
    }
    reply_fill(out, reply, "{uncalled?Not called: {uncalled*, |{/  }}.\n}");
    section_end(out);
}

/* Naming functions is enough to start, and naming nothing to see what was recorded. */
static const char *action_of(const struct tool_call *call)
{
    const char *action = arguments_string(call, "action", NULL);
    const json_t *names = json_object_get(call->arguments, "functions");
    return action != NULL ? action : json_array_size(names) > 0 ? "start" : "report";
}

static void on_watched(struct tool_call *call, const struct outcome *o)
{
    const char *action = action_of(call);
    bool is_trace = !arguments_boolean(call, "profile");
    const char *doing = is_trace ? "traced" : "profiled";
    struct strbuf *out = &call->text;
    if (strcmp(action, "start") == 0 || strcmp(action, "stop") == 0) {
        add_changes(out, o->reply, doing);
        call->is_error = strcmp(action, "start") == 0 && sexp_count(reply_get(o->reply, "problems")) > 0 &&
                         sexp_count(reply_get(o->reply, "started")) == 0 &&
                         sexp_count(reply_get(o->reply, "already")) == 0;
    } else if (strcmp(action, "clear") == 0 && is_trace) {
        reply_fill(out, o->reply, "{#cleared record} cleared.");
    } else if (strcmp(action, "clear") == 0) {
        strbuf_adds(out, "All counts are zero again.\n");
        add_watched(out, o->reply, doing, NULL);
    } else if (strcmp(action, "list") == 0) {
        add_watched(out, o->reply, doing, is_trace ? "record" : "call");
    } else if (is_trace) {
        add_trace(out, o->reply);
    } else {
        add_tallies(out, o->reply);
    }
    section_end(out);
}

/* The journal is a Lisp file, so this is written as a comment. */
static void write_journal(const struct tool_call *call, struct strbuf *journal)
{
    strbuf_addf(journal, ";; %s %s%s", call->tool->name, action_of(call),
                arguments_boolean(call, "profile") ? " profile" : "");
    const json_t *names = json_object_get(call->arguments, "functions");
    for (size_t i = 0; i < json_array_size(names); i++) {
        strbuf_addc(journal, ' ');
        text_add_line(journal, json_string_value(json_array_get(names, i)));
    }
}

static void watch(struct tool_call *call, struct session *s)
{
    const char *action = action_of(call);
    if (strcmp(action, "start") == 0 && json_array_size(json_object_get(call->arguments, "functions")) == 0) {
        call_answer(call, true, "Argument functions must name at least one function or package.");
        return;
    }
    call_begin_operation(call, arguments_boolean(call, "profile") ? "tally" : "trace");
    call_write_text(call, "action", action);
    if (strcmp(action, "report") == 0 || strcmp(action, "list") == 0) {
        look_up(call, s, on_watched);
        return;
    }
    struct strbuf journal = {0};
    write_journal(call, &journal);
    call_evaluate(call, s, strbuf_string(&journal), journal.len, look_up_showing(call, on_watched));
    strbuf_fini(&journal);
}

static const char *const breaks[] = {"call", "return", NULL};
static const char *const actions[] = {"start", "stop", "report", "list", "clear", NULL};

const struct tool tool_trace_functions = {
    .name = "trace-functions",
    .title = "Trace functions",
    .description = "Trace calls with arguments and results, set breakpoints, also conditional ones, or "
                   "count and time the calls of functions.",
    .arguments = {ARGUMENT("action", STRING, "", .choices = actions, .is_servers = true),
                  ARGUMENT("functions", STRING_LIST, "Or packages, for all of theirs."),
                  ARGUMENT("break", STRING, "Stop as at an error; invoke-restart CONTINUE runs on.",
                           .choices = breaks, .excludes = "profile"),
                  ARGUMENT("condition", STRING, "Form on the parameters, at a return on VALUES.",
                           .excludes = "profile"),
                  ARGUMENT("where-in", STRING_LIST, "Only calls from inside these.", .key = "within",
                           .excludes = "profile"),
                  ARGUMENT("methods", BOOLEAN, "", .excludes = "profile"),
                  ARGUMENT("profile", BOOLEAN, "Count and time calls.", .is_servers = true),
                  ARGUMENT("limit", INTEGER, "", .minimum = 1, .maximum = MOST_RECORDS, .key = "count"),
                  SESSION_ARGUMENT},
    .run_in = watch,
};
