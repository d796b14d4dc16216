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

const struct tool tool_compile_form = {
    .name = "compile-form",
    .title = "Compile without running",
    .description = "Compile forms and return the compiler's errors, warnings and notes. The forms are not "
                   "run and define nothing; beside threads, their macros, types and constants are defined.",
    .search_hint = "compiler warnings",
    .evaluates_code = true,
    .arguments = {ARGUMENT("code", STRING, "One or more forms.", .is_required = true),
                  ARGUMENT("package", STRING, "Package to read the forms in."), TIMEOUT_ARGUMENT,
                  SESSION_ARGUMENT},
    .effects = "macros, types and constants of the code are defined now",
    LOOK_UP("compile-form", on_compiled),
};
