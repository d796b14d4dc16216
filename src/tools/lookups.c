/*
 * list-definitions and describe-symbol: look into the image. Neither changes the record of the last error.
 */
#include <string.h>

#include "report/report.h"
#include "tools/look_up.h"

static void on_definitions(struct tool_call *call, const struct outcome *o)
{
    if (!report_definitions(&call->text, o->reply) && call_number(call, "from", 0) > 0)
        strbuf_addf(&call->text, "(none from %.0f on)", call_number(call, "from", 0));
    else if (call->text.len == 0)
        strbuf_adds(&call->text, "No definitions in this session.");
}

/* hyperspec.txt: each chapter, then its pages and the symbols that they describe. */
extern const char text_hyperspec[];

static void add_hyperspec(struct strbuf *out, const char *name)
{
    const char *line = text_hyperspec, *end = line + strlen(line);
    const char *chapter = line, *page = NULL, *separator = "\nHyperSpec: ";
    size_t name_len = strlen(name);
    for (size_t len; line < end; line += len + 1) {
        const char *found = line;
        len = strcspn(line, "\n");
        if (line[strspn(line, "0123456789")] == ' ')
            chapter = line;
        else
            do
                found =
                    memmem(found + 1, (size_t)(line + len - found) - (found < line + len), name, name_len);
            while (found != NULL && (found[-1] != ' ' || strchr(" \n", found[name_len]) == NULL));
        if (chapter == line || found == NULL)
            continue;
        strbuf_addf(out, "%s%.*s", separator, (int)strcspn(chapter, "\n"), chapter);
        separator = ", ";
        page = line;
    }
    if (page != NULL)
        strbuf_addf(out, ": https://www.lispworks.com/documentation/HyperSpec/Body/%.*s.htm",
                    (int)strcspn(page, " "), page);
}

static void on_text(struct tool_call *call, const struct outcome *o)
{
    const char *standard = sexp_string(reply_get(o->reply, "standard"), NULL);
    reply_fill(&call->text, o->reply, "{text}");
    if (standard != NULL)
        add_hyperspec(&call->text, standard);
    call->is_absent = !reply_flag(o->reply, "found");
}

static const char *const definition_types[] = {
    "all",   "functions", "variables", "macros", "compiler-macros", "setf-expanders",
    "types", "classes",   "methods",   "tools",  "packages",        "systems",
    NULL};

const struct tool tool_list_definitions = {
    .name = "list-definitions",
    .title = "List definitions",
    .description = "List what the session has defined, by kind, with variable values and loaded systems.",
    .arguments = {ARGUMENT("type", STRING, "Kind to list; default: all.", .choices = definition_types),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    LOOK_UP("list-definitions", on_definitions),
};

const struct tool tool_describe_symbol = {
    .name = "describe-symbol",
    .title = "Describe a symbol",
    .description =
        "Describe every meaning of a symbol: argument list, value, type, documentation, source and package.",
    .returns_long_text = true,
    .arguments = {NAME_ARGUMENT, PACKAGE_ARGUMENT, SESSION_ARGUMENT},
    LOOK_UP("describe-symbol", on_text),
};
