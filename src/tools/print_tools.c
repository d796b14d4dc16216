/*
 * print_tools: prints what the table of tools says, as JSON. scripts/document-tools writes docs/tools.md from
 * it. It is part of the build and is not installed.
 */
#include <jansson.h>
#include <stdio.h>

#include "calls/arguments.h"
#include "calls/registry.h"
#include "tools/table.h"

static json_t *choices_of(const struct tool_argument *a)
{
    json_t *choices = json_array();
    for (size_t i = 0; a->choices != NULL && a->choices[i] != NULL; i++)
        json_array_append_new(choices, json_string(a->choices[i]));
    return choices;
}

static json_t *arguments_of(const struct tool *tool)
{
    json_t *arguments = json_array();
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++)
        json_array_append_new(arguments,
                              json_pack("{s:s, s:s, s:b, s:f, s:f, s:o, s:s, s:s?, s:s?, s:s?}", "name",
                                        a->name, "type", argument_words[a->type].schema, "required",
                                        a->is_required, "minimum", a->minimum, "maximum", a->maximum,
                                        "choices", choices_of(a), "description", a->description, "excludes",
                                        a->excludes, "alsoExcludes", a->also_excludes, "needs", a->needs));
    return arguments;
}

int main(void)
{
    json_t *tools = json_array();
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        const struct tool *t = registry_at(&tool_table, i);
        json_array_append_new(tools, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:o}", "family",
                                               tool_table.rows[i].family, "name", t->name, "title", t->title,
                                               "description", t->description, "readOnlyHint", t->is_read_only,
                                               "destructiveHint", t->is_destructive, "openWorldHint",
                                               t->is_open_world, "arguments", arguments_of(t)));
    }
    bool ok = json_dumpf(tools, stdout, JSON_INDENT(1)) == 0 && fflush(stdout) == 0;
    json_decref(tools);
    return ok ? 0 : 1;
}
