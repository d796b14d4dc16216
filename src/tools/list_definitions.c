/*
 * list-definitions: what the session has defined.
 */
#include "calls/look_up.h"
#include "report/report.h"

static void on_definitions(struct tool_call *call, const struct outcome *o)
{
    if (!report_definitions(&call->text, o->reply) && arguments_number(call, "from", 0) > 0)
        strbuf_addf(&call->text, "(none from %.0f on)", arguments_number(call, "from", 0));
    else if (call->text.len == 0)
        strbuf_adds(&call->text, "No definitions in this session.");
}

static const char *const definition_types[] = {
    "all",   "functions", "variables", "macros", "compiler-macros", "setf-expanders",
    "types", "classes",   "methods",   "tools",  "packages",        "systems",
    NULL};

const struct tool tool_list_definitions = {
    .name = "list-definitions",
    .title = "List definitions",
    .description = "List what this session has defined, with values of variables and loaded systems.",
    .arguments = {ARGUMENT("type", STRING, "functions, classes, systems, ...", .choices = definition_types),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    LOOK_UP("list-definitions", on_definitions),
};
