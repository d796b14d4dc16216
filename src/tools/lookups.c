/*
 * list-definitions and describe-symbol: look into the image. Neither touches the record of the last error.
 */
#include <string.h>

#include "report/report.h"
#include "tools/look_up.h"

static void on_definitions(struct tool_call *call, const struct outcome *o)
{
    if (call_report_failed_look(call, o))
        return;
    if (!report_definitions(&call->text, o->reply) && call_number(call, "from", 0) > 0)
        strbuf_addf(&call->text, "(none from %.0f on)", call_number(call, "from", 0));
    else if (call->text.len == 0)
        strbuf_adds(&call->text, "No definitions in this session.");
    call_finish(call);
}

static void list_definitions(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    size_t len;
    const char *type = call_string(call, "type", &len);
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "list-definitions");
    sexp_write_symbol(&request, "type");
    sexp_write_string(&request, type == NULL ? "all" : type, type == NULL ? 3 : len);
    look_up_write_range(call, &request, LOOK_UP_LIMIT);
    look_up(call, s, &request, on_definitions);
    strbuf_fini(&request);
}

static void on_text(struct tool_call *call, const struct outcome *o)
{
    if (call_report_failed_look(call, o))
        return;
    size_t len;
    const char *text = sexp_string(sexp_get(o->reply, 2, "text"), &len);
    strbuf_add(&call->text, text == NULL ? "" : text, len);
    call->is_absent = sexp_is_nil(sexp_get(o->reply, 2, "found"));
    call_finish(call);
}

static void describe_symbol(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "describe-symbol");
    call_write_string(call, &request, "name");
    call_write_string(call, &request, "package");
    look_up(call, s, &request, on_text);
    strbuf_fini(&request);
}

static const char *const definition_types[] = {"all",     "functions", "variables", "macros", "classes",
                                               "methods", "packages",  "systems",   NULL};

const struct tool tool_list_definitions = {
    .name = "list-definitions",
    .title = "List definitions",
    .description = "List what the session has defined, by kind, with variable values and loaded systems.",
    .toolset = TOOLSET_CORE,
    .is_read_only = true,
    .arguments =
        {
            {.name = "type",
             .type = ARGUMENT_STRING,
             .choices = definition_types,
             .description = "Kind to list; default: all."},
            LIMIT_ARGUMENT,
            FROM_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = list_definitions,
};

const struct tool tool_describe_symbol = {
    .name = "describe-symbol",
    .title = "Describe a symbol",
    .description =
        "Describe every meaning of a symbol: argument list, value, type, documentation, source and package.",
    .toolset = TOOLSET_CORE,
    .is_read_only = true,
    .arguments =
        {
            {.name = "name",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "Symbol, with or without package prefix."},
            {.name = "package", .type = ARGUMENT_STRING, .description = "Package to search."},
            SESSION_ARGUMENT,
        },
    .run = describe_symbol,
};
