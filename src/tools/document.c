/*
 * The page about the tools. What it says of a tool is what the tool's struct says; what holds for all of them is here.
 */
#include "tools/document.h"

#include "base/strbuf.h"
#include "tools/registry.h"

static const char introduction[] =
    "# Tools\n"
    "\n"
    "This page is printed from the tables of the server: `build/src/tools/print_tools > docs/tools.md`.\n"
    "\n"
    "Names are looked up leniently: case does not matter, `_` stands for `-`, and a leading `ns/` or `ns.` is dropped. So it is with the names of\n"
    "arguments; `form`, `expression` and `input` stand for `code`, `system-name` for `system`. A number may be given as a string; an argument that is\n"
    "null counts as absent. Every tool can be called; which ones are listed is chosen by `--tools=core|standard|full|NAME,NAME...`, where each set\n"
    "holds those before it. A tool's set is the smallest that lists it.\n"
    "\n"
    "| tool | set | what it does |\n"
    "|---|---|---|\n";

/* A cell must hold neither a bar nor a newline. */
static void add_cell(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *text == '\n' ? ' ' : *text);
    }
}

static const char *set_name(enum toolset set)
{
    switch (set) {
    case TOOLSET_CORE:
        return "core";
    case TOOLSET_STANDARD:
        return "standard";
    case TOOLSET_FULL:
        return "full";
    }
    return "?";
}

static const char *type_name(enum argument_type type)
{
    switch (type) {
    case ARGUMENT_STRING:
        return "string";
    case ARGUMENT_INTEGER:
        return "integer";
    case ARGUMENT_NUMBER:
        return "number";
    case ARGUMENT_BOOLEAN:
        return "boolean";
    case ARGUMENT_STRING_LIST:
        return "array of strings";
    }
    return "?";
}

/* "integer, 1 to 32", "string: all, functions". */
static void add_type(struct strbuf *out, const struct tool_argument *a)
{
    strbuf_adds(out, type_name(a->type));
    if (a->minimum < a->maximum)
        strbuf_addf(out, ", %.15g to %.15g", a->minimum, a->maximum);
    for (size_t i = 0; a->choices != NULL && a->choices[i] != NULL; i++)
        strbuf_addf(out, "%s%s", i == 0 ? ": " : ", ", a->choices[i]);
}

static void add_arguments(struct strbuf *out, const struct tool *tool)
{
    if (tool->arguments[0].name == NULL) {
        strbuf_adds(out, "\nIt takes no arguments.\n");
        return;
    }
    strbuf_adds(out, "\n| argument | type | required | description |\n|---|---|---|---|\n");
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        strbuf_addf(out, "| %s | ", a->name);
        add_type(out, a);
        strbuf_addf(out, " | %s | ", a->is_required ? "yes" : "no");
        add_cell(out, a->description);
        strbuf_adds(out, " |\n");
    }
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

static void add_tool(struct strbuf *out, const struct tool *tool)
{
    strbuf_addf(out, "\n## %s\n\n%s. %s\n", tool->name, tool->title, tool->description);
    add_arguments(out, tool);
    strbuf_addf(out, "\nSet: %s. Annotations: readOnlyHint %s, destructiveHint %s, idempotentHint %s, openWorldHint %s.\n", set_name(tool->toolset),
                word(tool->is_read_only), word(tool->is_destructive), word(tool->is_idempotent), word(tool->is_open_world));
}

void tools_document(struct strbuf *out)
{
    strbuf_adds(out, introduction);
    for (size_t i = 0; i < registry_count(); i++) {
        const struct tool *tool = registry_at(i);
        strbuf_addf(out, "| [%s](#%s) | %s | ", tool->name, tool->name, set_name(tool->toolset));
        add_cell(out, tool->description);
        strbuf_adds(out, " |\n");
    }
    for (size_t i = 0; i < registry_count(); i++)
        add_tool(out, registry_at(i));
}
