/*
 * compile-form: the compiler's diagnostics for code. It runs in a copy of the session that is discarded, so
 * it has no effect where no threads run.
 */
#include "report/report.h"
#include "tools/look_up.h"

static void on_compiled(struct tool_call *call, const struct outcome *o)
{
    report_compilation(&call->text, o->reply);
}

static void run(struct tool_call *call)
{
    struct session *s = call_begin(call, "compile-form");
    if (s == NULL)
        return;
    const char *code = call_string(call, "code", NULL);
    call_write_string(call, "code");
    call_write_string(call, "package");
    look_up_in_copy(call, s, code, call_timeout_ms(call),
                    "macros, types and constants of the code are defined now", on_compiled);
}

const struct tool tool_compile_form = {
    .name = "compile-form",
    .title = "Compile without running",
    .description = "Compile forms and return the compiler's errors, warnings and notes. The forms are not "
                   "run and define nothing; beside threads, their macros, types and constants are defined.",
    .search_hint = "compiler warnings",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .evaluates_code = true,
    .arguments = {ARGUMENT("code", STRING, "One or more forms.", .is_required = true),
                  ARGUMENT("package", STRING, "Package to read the forms in."), TIMEOUT_ARGUMENT,
                  SESSION_ARGUMENT},
    .run = run,
};
