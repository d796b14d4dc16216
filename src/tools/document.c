/*
 * The page about the tools. What it says about a tool comes from the tool's struct and from the example that
 * the tests run; what applies to all tools is written here.
 */
#include "tools/document.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "tools/arguments.h"
#include "tools/listing.h"
#include "tools/registry.h"

/* document.txt, which ends with the head of the table of tools. */
extern const char text_document[];

/* A cell must contain neither a bar nor a newline. */
static void add_cell(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *text == '\n' ? ' ' : *text);
    }
}

/* "integer, 1 to 32", "string: all, functions". */
static void add_type(struct strbuf *out, const struct tool_argument *a)
{
    strbuf_adds(out, argument_words[a->type].documented);
    if (a->minimum < a->maximum)
        strbuf_addf(out, ", %.16g to %.16g", a->minimum, a->maximum);
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
        strbuf_addf(out, " | %s | ", a->is_required ? "yes" : a->is_rare ? "no, rare" : "no");
        add_cell(out, a->description);
        strbuf_adds(out, " |\n");
    }
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

/* An argument's value as text; several lines begin on a line of their own. */
static void add_value(struct strbuf *out, const json_t *value)
{
    const char *text = json_string_value(value);
    char *other = text == NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    if (text == NULL)
        text = other;
    bool is_long = strchr(text, '\n') != NULL;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        strbuf_adds(out, is_long ? "\n>   " : " ");
        strbuf_add(out, line, len);
        line += len + (line[len] == '\n');
    }
    free(other);
}

/* "> evaluate-in-frame  frame: 0, code: (length numbers)" */
static void add_call(struct strbuf *out, const char *name, const json_t *arguments)
{
    const struct tool *tool = registry_find(name);
    size_t count = 0;
    strbuf_addf(out, "> %s", name);
    if (json_object_size(arguments) == 1 && json_object_get(arguments, "code") != NULL) {
        if (strchr(json_string_value(json_object_get(arguments, "code")), '\n') == NULL)
            strbuf_addc(out, ' ');
        add_value(out, json_object_get(arguments, "code"));
        strbuf_addc(out, '\n');
        return;
    }
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        const json_t *value = json_object_get(arguments, a->name);
        if (value == NULL)
            continue;
        strbuf_addf(out, "%s%s:", count++ == 0 ? "  " : ", ", a->name);
        add_value(out, value);
    }
    strbuf_addc(out, '\n');
}

static void add_files(struct strbuf *out, const json_t *files)
{
    const char *name;
    const json_t *text;
    void *at;
    /* jansson's iterator takes a pointer to non-const, and changes nothing. */
    json_t *walked = (json_t *)(uintptr_t)files;
    for (at = json_object_iter(walked); at != NULL; at = json_object_iter_next(walked, at)) {
        name = json_object_iter_key(at);
        text = json_object_iter_value(at);
        size_t len = json_string_length(text);
        bool ends_in_newline = len > 0 && json_string_value(text)[len - 1] == '\n';
        strbuf_addf(out, "\n`%s`:\n\n```lisp\n%s%s```\n", name, json_string_value(text),
                    ends_in_newline ? "" : "\n");
    }
}

static void add_step(struct strbuf *out, const json_t *step)
{
    if (json_is_string(step)) {
        json_t *arguments = json_pack("{s:O}", "code", step);
        add_call(out, "evaluate-lisp", arguments);
        json_decref(arguments);
    } else {
        add_call(out, json_string_value(json_object_get(step, "tool")), json_object_get(step, "arguments"));
    }
    strbuf_adds(out, "...\n\n");
}

static void add_example(struct strbuf *out, const char *name, const json_t *data)
{
    const json_t *example = json_object_get(data, "example"), *step;
    size_t i;
    add_files(out, json_object_get(data, "files"));
    strbuf_adds(out, "\n```\n");
    json_array_foreach(json_object_get(data, "setup"), i, step)
        add_step(out, step);
    add_call(out, name, json_object_get(example, "arguments"));
    const char *reply = json_string_value(json_object_get(example, "reply"));
    strbuf_addf(out, "%s\n```\n", reply);
}

static bool add_tool(struct strbuf *out, const struct tool *tool, const char *examples, struct err *err)
{
    strbuf_addf(out, "\n### %s\n\n%s\n", tool->name, tool->description);
    add_arguments(out, tool);
    strbuf_addf(out, "\nTitle: %s. Set: %s. Annotations: readOnlyHint %s, ", tool->title,
                listing_sets[tool->toolset], word(tool->is_read_only));
    if (!tool->is_read_only)
        strbuf_addf(out, "destructiveHint %s, idempotentHint %s, ", word(tool->is_destructive),
                    word(tool->is_idempotent));
    strbuf_addf(out, "openWorldHint %s.\n", word(tool->is_open_world));
    char path[4096];
    snprintf(path, sizeof path, "%.3900s/%s.json", examples, tool->name);
    json_error_t fault;
    json_t *data = json_load_file(path, 0, &fault);
    if (data == NULL)
        return err_set(err, ERR_INVALID, "%s: %s", path, fault.text);
    add_example(out, tool->name, data);
    json_decref(data);
    return true;
}

/* Does a family begin with this tool? */
static bool is_first_of_family(size_t n)
{
    return n == 0 || registry_family(n) != registry_family(n - 1);
}

bool tools_document(struct strbuf *out, const char *examples, struct err *err)
{
    strbuf_addf(out, "%s\n", text_document);
    for (size_t i = 0; i < registry_count(); i++) {
        const struct tool *tool = registry_at(i);
        if (is_first_of_family(i))
            strbuf_addf(out, "| **%s** | | |\n", registry_family(i));
        strbuf_addf(out, "| [%s](#%s) | %s | ", tool->name, tool->name, listing_sets[tool->toolset]);
        add_cell(out, tool->description);
        strbuf_adds(out, " |\n");
    }
    for (size_t i = 0; i < registry_count(); i++) {
        if (is_first_of_family(i))
            strbuf_addf(out, "\n## %s\n", registry_family(i));
        if (!add_tool(out, registry_at(i), examples, err))
            return false;
    }
    return true;
}
