/*
 * inspect-object: an object and its parts, each with a handle to inspect it next. Inspecting by code and
 * setting a part are evaluations of the session; inspecting by handle only looks.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "calls/look_up.h"
#include "calls/pictures.h"
#include "report/section.h"
#include "tools/enter_errors.h"

#define MOST_PARTS 500

static void add_part(struct strbuf *out, const struct sexp *part)
{
    bool is_bound = sexp_string(sexp_nth(part, 1), NULL) != NULL;
    reply_fill(out, part, is_bound ? "  {0}{3? <{3}>} = {1}{2? <{2}>}\n" : "  {0}{3? <{3}>} is unbound\n");
}

/* A negative total: too many to count. */
static void add_parts(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *parts = reply_get(reply, "parts");
    uint64_t from = reply_count(reply, "from"), count = sexp_count(parts);
    int64_t total = reply_integer(reply, "total");
    bool is_more = total < 0 || from + count < (uint64_t)total;
    struct short_text all = text_grouped(total < 0 ? 0 : (uint64_t)total);
    const char *of = total < 0 ? "very many" : all.text;
    if (total == 0)
        return;
    section_begin(out, HEADING_NONE);
    if (count == 0) {
        strbuf_addf(out, "There are no parts from %s on, of %s.", text_grouped(from).text, of);
        return;
    }
    strbuf_adds(out, "Parts");
    if (from > 0 || is_more)
        strbuf_addf(out, " %s to %s of %s", text_grouped(from).text, text_grouped(from + count - 1).text, of);
    strbuf_adds(out, ":\n");
    for (size_t i = 0; i < count; i++)
        add_part(out, sexp_nth(parts, i));
    if (is_more)
        strbuf_addf(out, "offset: %" PRIu64 " shows more.", from + count);
    section_end(out);
}

static void add_inspection(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    const struct sexp *absent = reply_get(o->reply, "absent"), *not_set = reply_get(o->reply, "not-set");
    const struct sexp *failed = reply_get(o->reply, "failed");
    section_begin(out, HEADING_NONE);
    if (sexp_string(absent, NULL) != NULL) {
        reply_add_string(out, absent);
    } else if (sexp_string(not_set, NULL) != NULL) {
        reply_fill(out, o->reply, "Nothing was set. {not-set}");
        call->is_error = true;
    } else if (sexp_string(failed, NULL) != NULL) {
        reply_fill(out, o->reply, "The object could not be inspected: its own code signalled {failed}.");
    } else if (reply_get(o->reply, "text") == NULL) {
        report_values(out, o, call_max_output(call, o)); /* the code invoked ABORT itself */
    } else {
        reply_fill(out, o->reply,
                   "{text}\nKind: {kind}\nClass: {class}\nHandle: {handle}{facts*|\n{0}: {1}}");
        add_parts(out, o->reply);
    }
}

/* For the page. */
static void set_data(struct tool_call *call, const struct outcome *o, bool is_fleeting)
{
    if (!call->options.wants_data || o->reply == NULL)
        return;
    json_decref(call->structured);
    call->structured = report_data(o->reply, 2);
    json_object_set_new(call->structured, "is-fleeting", json_boolean(is_fleeting));
}

static void on_evaluated(struct tool_call *call, const struct outcome *o)
{
    pictures_take(call, o);
    if (call_report_begin(call, o, NULL))
        add_inspection(call, o);
    set_data(call, o, false);
    call_report_end(call, o);
}

static void on_looked(struct tool_call *call, const struct outcome *o)
{
    pictures_take(call, o);
    add_inspection(call, o);
    const char *handle = arguments_string(call, "handle", NULL);
    set_data(call, o, o->moment != NULL && o->was_in_copy);
    if (o->moment != NULL && o->was_in_copy)
        strbuf_addf(&call->text, "\nThe handles in this reply are not kept; %s with a path shows a part.",
                    handle != NULL ? handle : arguments_string(call, "code", NULL));
}

/* The copy of the error ends with its answer, so its handles are of no use afterwards. */
static void on_local(struct tool_call *call, const struct outcome *o)
{
    pictures_take(call, o);
    add_inspection(call, o);
    set_data(call, o, o->was_in_copy);
    if (o->was_in_copy)
        strbuf_adds(&call->text,
                    "\nThis is of a copy of the process that was made at the error: the handles are "
                    "not kept. Pass a path instead.");
}

/* The journal is a Lisp file, so text that is not a form is written as a comment. */
static void write_journal(const struct tool_call *call, struct strbuf *journal)
{
    size_t len;
    const char *code = arguments_string(call, "code", &len), *path = arguments_string(call, "path", NULL);
    if (code != NULL)
        strbuf_add(journal, code, len);
    else
        strbuf_addf(journal, ";; inspect-object %s", arguments_string(call, "handle", NULL));
    if (!arguments_has(call, "set"))
        return;
    struct strbuf change = {0};
    strbuf_addf(&change, "inspect-object set the part\n  %s\nto\n  %s", path == NULL ? "" : path,
                arguments_string(call, "set", NULL));
    strbuf_addc(journal, '\n');
    text_add_indented(journal, change.bytes, change.len, ";; ");
    strbuf_fini(&change);
}

/* A variable can be looked at while code runs: nothing is evaluated. */
static bool is_variable_beside_code(const struct tool_call *call, struct session *s)
{
    static const char names[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-*/%<>=!?&_:.$^~";
    struct session_evaluation e;
    size_t len;
    const char *code = arguments_string(call, "code", &len);
    if (code == NULL || arguments_has(call, "set") || !session_evaluation_at(s, 0, &e) || !e.is_running)
        return false;
    return strspn(code, names) == len && strspn(code, "0123456789.+-/") < len;
}

static void run(struct tool_call *call, struct session *s)
{
    if (arguments_has(call, "code") + arguments_has(call, "handle") + arguments_has(call, "local") != 1) {
        call_answer(call, true, "Pass either code, handle or local.");
        return;
    }
    if ((arguments_has(call, "frame") || arguments_has(call, "index")) && !arguments_has(call, "local")) {
        call_answer(call, true,
                    "Argument %s goes with local, a variable of that frame. evaluate-in-frame evaluates "
                    "code in a frame.",
                    arguments_has(call, "frame") ? "frame" : "index");
        return;
    }
    if (arguments_has(call, "local") && arguments_has(call, "set")) {
        call_answer(call, true, "A part of a local variable is set by evaluate-in-frame.");
        return;
    }
    bool is_look_up = is_variable_beside_code(call, s);
    call_write_string_as(call, is_look_up ? "variable" : "code", "code");
    pictures_ask(call);
    call_write_integer(call, "handle-number", (int64_t)++call->toolbox->inspections);
    if (arguments_has(call, "local")) {
        enter_errors_look_up(call, s, on_local);
    } else if ((arguments_has(call, "code") && !is_look_up) || arguments_has(call, "set")) {
        struct strbuf journal = {0};
        write_journal(call, &journal);
        call_evaluate(call, s, strbuf_string(&journal), journal.len, on_evaluated);
        strbuf_fini(&journal);
    } else {
        look_up(call, s, on_looked);
    }
}

const struct tool tool_inspect_object = {
    .name = "inspect-object",
    .title = "Inspect an object",
    .description = "Show an object's class and parts, such as slots and elements, each with a handle to "
                   "inspect next; or a picture.",
    RUNS_CODE,
    .arguments = {ARGUMENT("code", STRING, "", .is_servers = true),
                  ARGUMENT("handle", STRING, "h7, h7.3; v12: evaluation 12's value."),
                  ARGUMENT("local", STRING, "Variable of an error's frame."),
                  ARGUMENT("frame", INTEGER, "", .minimum = 0, .maximum = 1000), INDEX_ARGUMENT,
                  ARGUMENT("path", STRING, "To a part: items, [3]."),
                  ARGUMENT("limit", INTEGER, "", .minimum = 0, .maximum = MOST_PARTS, .key = "count"),
                  ARGUMENT("offset", INTEGER, "", .minimum = 0, .maximum = 1e12, .key = "from"),
                  ARGUMENT("set", STRING, "New value of the part at path."), PACKAGE_ARGUMENT,
                  TIMEOUT_ARGUMENT, SESSION_ARGUMENT},
    .operation = "inspect",
    .run_in = run,
};
