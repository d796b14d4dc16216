/*
 * evaluate-lisp: read, evaluate, print.
 */

#include "tools/call.h"
#include "tools/detach.h"

static void run(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *code = call_string(call, "code", &len);
    const struct limits *limits = session_limits(s);
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    static const struct {
        const char *name;
        enum limit limit;
    } print[] = {{"print-length", LIMIT_PRINT_LENGTH}, {"print-level", LIMIT_PRINT_LEVEL}};
    for (size_t i = 0; i < 2; i++) {
        int n = (int)call_number(call, print[i].name, limits_int(limits, print[i].limit));
        if (n > 0)
            call_write_integer(call, print[i].name, n);
    }
    if (!call_has(call, "stdin"))
        call_write_asks(call);
    call_evaluate(call, s, code, len, call_report);
}

const struct tool tool_evaluate_lisp = {
    .name = "evaluate-lisp",
    .title = "Evaluate Lisp",
    .description = "Evaluate Common Lisp forms in a persistent session and return their values, output and "
                   "warnings. An error returns its backtrace and restarts.",
    RUNS_CODE,
    .arguments = {ARGUMENT("code", STRING, "One or more forms.", .is_required = true),
                  ARGUMENT("package", STRING, "Package for this call only."),
                  ARGUMENT("capture-time", BOOLEAN, "Report time and memory used."),
                  ARGUMENT("stdin", STRING, "Text for *standard-input*."), TIMEOUT_ARGUMENT, WAIT_ARGUMENT,
                  ARGUMENT("max-output", INTEGER, "Bytes to show of each output or value.", .minimum = 200,
                           .maximum = 4000000, .is_servers = true),
                  ARGUMENT("print-length", INTEGER, "List elements to print; 0: all.", .is_rare = true,
                           .minimum = 0, .maximum = 1000000, .is_servers = true),
                  ARGUMENT("print-level", INTEGER, "Nesting levels to print; 0: all.", .is_rare = true,
                           .minimum = 0, .maximum = 1000, .is_servers = true),
                  SESSION_ARGUMENT},
    .operation = "evaluate",
    .run_in = run,
};
