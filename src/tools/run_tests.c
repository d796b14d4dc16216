/*
 * run-tests: the tests of a system, with the framework they use. The run continues after unexpected
 * errors; the first few are kept so that they can be entered.
 */
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluations.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"
#include "session/session.h"
#include "tools/clean_start.h"
#include "tools/run_tests.h"
#include "tools/systems.h"

/* Of a session's five enterable errors, the number that one run may use. */
#define ERRORS_ENTERABLE 3

bool run_tests_is_result(const struct outcome *o)
{
    return o->kind == OUTCOME_OK && reply_get(o->reply, "failures") != NULL &&
           reply_get(o->reply, "verdict") != NULL;
}

static void add_report(struct tool_call *call, const struct outcome *o, bool is_clean)
{
    struct strbuf text = {0}, aside = {0};
    size_t most = call_max_output(call, o);
    if (run_tests_is_result(o) && report_tests_counted(o->reply))
        report_put_aside(&aside, o, 0); /* the framework's own output repeats each failure */
    call->is_error = o->kind == OUTCOME_ERROR;
    if (report_begin(&call->text, o, most)) {
        call->is_error = report_tests(&text, o->session, o->reply);
        section_begin(&call->text, HEADING_NONE);
        report_cut(&call->text, o->session, strbuf_string(&text), text.len, most);
    }
    report_end(&call->text, o);
    if (aside.len > 0 && !is_clean) /* what is kept of a clean run ends with it */
        strbuf_addf(&call->text, "\n%s", strbuf_string(&aside));
    strbuf_fini(&text);
    strbuf_fini(&aside);
}

void run_tests_report(struct tool_call *call, const struct outcome *o)
{
    if (!run_tests_is_result(o)) {
        call_report(call, o);
        return;
    }
    add_report(call, o, false);
    call_finish(call);
}

static void on_clean(struct tool_call *call, const struct outcome *o)
{
    clean_begin_report(call);
    add_report(call, o, true);
    clean_finish(call, o);
}

static void run_tests(struct tool_call *call, struct session *s)
{
    const char *system = arguments_string(call, "system", NULL);
    struct strbuf code = {0};
    bool is_clean = arguments_boolean(call, "clean");
    if (is_clean && (s = clean_start(call, s)) == NULL)
        return;
    if (!is_clean) /* no error outlives a clean run */
        call_write_integer(call, "count", ERRORS_ENTERABLE);
    call_write_asks(call);
    systems_add_form(&code, "asdf:test-system", system);
    call_load(call, s, system, &code, is_clean ? on_clean : run_tests_report);
}

static const char *const frameworks[] = {"auto", "FiveAM",    "Parachute",  "Rove",
                                         "RT",   "lisp-unit", "lisp-unit2", NULL};

const struct tool tool_run_tests = {
    .name = "run-tests",
    .title = "Run tests",
    .description = "Run a system's tests (FiveAM, Parachute, Rove, ...): counts, and each failure with "
                   "form, expected and actual value.",
    RUNS_CODE,
    .arguments = {ARGUMENT("system", STRING, "", .is_required = true),
                  ARGUMENT("test", STRING, "Test or suite."),
                  ARGUMENT("framework", STRING, "", .choices = frameworks, .default_choice = "auto"),
                  ARGUMENT("clean", BOOLEAN, "In a fresh Lisp."), TIMEOUT_ARGUMENT, WAIT_ARGUMENT,
                  SESSION_ARGUMENT},
    .operation = "run-tests",
    .run_in = run_tests,
};
