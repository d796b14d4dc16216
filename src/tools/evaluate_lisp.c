/*
 * evaluate-lisp: read, evaluate, print.
 */

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluations.h"
#include "calls/pictures.h"
#include "session/session.h"

static void report(struct tool_call *call, const struct outcome *o)
{
    pictures_take(call, o);
    call_report(call, o);
}

static void run(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *code = arguments_string(call, "code", &len);
    const struct limits *limits = session_limits(s);
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    static const struct {
        const char *name;
        enum limit limit;
    } print[] = {{"print-length", LIMIT_PRINT_LENGTH}, {"print-level", LIMIT_PRINT_LEVEL}};
    for (size_t i = 0; i < 2; i++) {
        int n = (int)arguments_number(call, print[i].name, limits_int(limits, print[i].limit));
        if (n > 0)
            call_write_integer(call, print[i].name, n);
    }
    if (!arguments_has(call, "stdin"))
        call_write_asks(call);
    pictures_ask(call);
    call_evaluate(call, s, code, len, report);
}

const struct tool tool_evaluate_lisp = {
    .name = "evaluate-lisp",
    .title = "Evaluate Lisp",
    .description = "Evaluate Common Lisp forms; definitions stay. Returns values, output and warnings, or "
                   "an error with its backtrace and restarts.",
    RUNS_CODE,
    .arguments = {ARGUMENT("code", STRING, "", .is_required = true), ARGUMENT("package", STRING, ""),
                  ARGUMENT("capture-time", BOOLEAN, ""), ARGUMENT("stdin", STRING, ""),
                  ANY_TIMEOUT_ARGUMENT("Limit in seconds; 0: none."),
                  ANY_WAIT_ARGUMENT("Seconds until the call returns; the code runs on."),
                  ARGUMENT("hold", BOOLEAN, "In a joined Lisp: an error keeps locks."),
                  ARGUMENT("max-output", INTEGER, "Bytes shown.", .minimum = 200, .maximum = 4000000,
                           .is_servers = true),
                  ARGUMENT("print-length", INTEGER, "", .minimum = 0, .maximum = 1000000, .is_servers = true),
                  ARGUMENT("print-level", INTEGER, "", .minimum = 0, .maximum = 1000, .is_servers = true),
                  SESSION_ARGUMENT},
    .operation = "evaluate",
    .run_in = run,
};
