/*
 * run-tests: the tests of a system, with the framework they are written in. The run goes on after unexpected
 * errors; the first few are kept so that they can be entered.
 */
#include <string.h>

#include "report/report.h"
#include "tools/call.h"
#include "tools/cut.h"
#include "tools/detach.h"

/* Loading compiles, and suites are long: more time than an evaluation has, unless the caller says otherwise.
 */
#define TEST_TIMEOUT_MS 300000
/* Of the five errors of a session that can be entered, so many may be of one run. */
#define ERRORS_ENTERABLE 3

static void add_result(struct strbuf *out, const struct outcome *o, size_t most, void *arg)
{
    struct tool_call *call = arg;
    struct strbuf text;
    strbuf_init(&text, 0);
    call->is_error = report_tests(&text, o->reply);
    if (out->len > 0)
        strbuf_adds(out, "\n\n");
    cut_add(out, o->session, &text, most);
    strbuf_fini(&text);
}

static void on_run(struct tool_call *call, const struct outcome *o)
{
    call->is_error = o->kind == OUTCOME_ERROR;
    report_evaluation_with(&call->text, o, (size_t)limits_int(session_limits(o->session), LIMIT_MAX_OUTPUT),
                           add_result, call);
    call_finish(call);
}

static void run_tests(struct tool_call *call)
{
    struct session *s = call_begin(call, "run-tests");
    if (s == NULL)
        return;
    const char *system = call_string(call, "system", NULL);
    const char *framework = call_string(call, "framework", NULL);
    struct strbuf code;
    call_write_string(call, "system");
    if (framework != NULL && strcmp(framework, "auto") != 0)
        call_write_string(call, "framework");
    call_write_string(call, "test");
    call_write_integer(call, "count", ERRORS_ENTERABLE);
    strbuf_init(&code, 0);
    call_add_system_form(&code, "asdf:test-system", system);
    int session_ms = limits_timeout_ms(session_limits(s));
    struct operation_options options = {
        .what = system,
        .timeout_ms = call_has(call, "timeout")      ? call_timeout_ms(call)
                      : session_ms > TEST_TIMEOUT_MS ? session_ms
                                                     : TEST_TIMEOUT_MS,
        .keeps_record = true,
        .goes_on = true,
        .code = code.bytes,
        .code_len = code.len,
    };
    call_run(call, s, &options, on_run);
    strbuf_fini(&code);
}

static const char *const frameworks[] = {"auto", "FiveAM",    "Parachute",  "Rove",
                                         "RT",   "lisp-unit", "lisp-unit2", NULL};

const struct tool tool_run_tests = {
    .name = "run-tests",
    .title = "Run tests",
    .description = "Run a system's tests and report counts and each failure with form, expected and actual "
                   "value, and condition. Unexpected errors can be entered.",
    .toolset = TOOLSET_STANDARD,
    .is_destructive = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "system", .type = ARGUMENT_STRING, .is_required = true, .description = "System name."},
            {.name = "test", .type = ARGUMENT_STRING, .description = "Test or suite to run; default: all."},
            {.name = "framework",
             .type = ARGUMENT_STRING,
             .choices = frameworks,
             .description = "Default: the loaded one."},
            TIMEOUT_ARGUMENT,
            WAIT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = run_tests,
};
