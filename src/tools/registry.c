/*
 * Responsible for finding tools, listing them, and checking their arguments. Each tool's work is in its own
 * file.
 */
#include "tools/registry.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tools/similar.h"
#include "tools/table.h"

/* The part of a client's text that a sentence quotes. */
#define MOST_QUOTED 60
#define LONG_TEXT_CHARACTERS 500000 /* the maximum that Claude Code allows */
#define FAR_MAXIMUM 86400           /* an argument's maximum from here on is not listed */

size_t registry_count(void)
{
    return tool_table_count;
}

const struct tool *registry_at(size_t n)
{
    CHECK(n < tool_table_count);
    return tool_table[n];
}

const char *registry_family(size_t n)
{
    const char *family = NULL;
    size_t i;

    for (i = 0; i < tool_row_count; i++) {
        if (tool_rows[i].family)
            family = tool_rows[i].family;
        else if (tool_rows[i].tool == registry_at(n))
            break;
    }
    return family;
}

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

/* Is ${given} a lenient spelling of ${name}, which is in lower case with dashes? */
static bool is_spelling_of(const char *given, size_t len, const char *name)
{
    size_t i;

    for (i = 0; i < len; i++) {
        if (!name[i] || folded(given[i]) != folded(name[i]))
            return false;
    }
    return name[len] == '\0';
}

static const struct tool_former *find_former(const char *name)
{
    for (size_t i = 0; i < tool_former_count; i++) {
        if (is_spelling_of(name, strlen(name), tool_formers[i].name))
            return &tool_formers[i];
    }
    return NULL;
}

static const struct tool *find_spelling(const char *name)
{
    const struct tool_former *former = find_former(name);
    for (size_t i = 0; i < tool_table_count; i++) {
        if (is_spelling_of(name, strlen(name), tool_table[i]->name))
            return tool_table[i];
    }
    return former == NULL ? NULL : former->tool;
}

/* The name without the namespace that some clients prepend. */
static const char *without_namespace(const char *name)
{
    const char *at = name + strlen(name);

    while (at > name && at[-1] != '/' && at[-1] != '.')
        at--;
    return at;
}

const struct tool *registry_find(const char *name)
{
    const struct tool *tool = find_spelling(name);
    return tool != NULL ? tool : find_spelling(without_namespace(name));
}

const char *registry_nearest(const char *name)
{
    struct similar search;
    size_t i;

    similar_init(&search, without_namespace(name));
    for (i = 0; i < tool_table_count; i++)
        similar_offer(&search, tool_table[i]->name);
    return search.best;
}

static const struct tool_argument *find_argument(const struct tool *tool, const char *name)
{
    static const struct {
        const char *other;
        const char *name;
    } synonyms[] = {{"form", "code"}, {"expression", "code"}, {"input", "code"}, {"system-name", "system"}};
    const struct tool_argument *a;
    size_t i;

    for (a = tool->arguments; a->name; a++) {
        if (is_spelling_of(name, strlen(name), a->name))
            return a;
    }
    for (i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (!is_spelling_of(name, strlen(name), synonyms[i].other))
            continue;
        for (a = tool->arguments; a->name; a++) {
            if (strcmp(a->name, synonyms[i].name) == 0)
                return a;
        }
    }
    return NULL;
}

static const char *sort_text(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

static bool is_bounded(const struct tool_argument *a)
{
    return a->minimum < a->maximum;
}

/* "a number between 1 and 600", "one of all, functions". */
static void add_expectation(struct strbuf *out, const struct tool_argument *a)
{
    size_t i;

    switch (a->type) {
    case ARGUMENT_STRING:
        if (!a->choices) {
            strbuf_adds(out, "a string");
            return;
        }
        strbuf_adds(out, "one of ");
        for (i = 0; a->choices[i]; i++)
            strbuf_addf(out, "%s%s", i ? ", " : "", a->choices[i]);
        return;
    case ARGUMENT_INTEGER:
        strbuf_adds(out, "an integer");
        break;
    case ARGUMENT_NUMBER:
        strbuf_adds(out, "a number");
        break;
    case ARGUMENT_BOOLEAN:
        strbuf_adds(out, "true or false");
        return;
    case ARGUMENT_STRING_LIST:
        strbuf_adds(out, "an array of strings");
        return;
    }
    if (is_bounded(a))
        strbuf_addf(out, " between %.16g and %.16g", a->minimum, a->maximum);
}

static void add_given(struct strbuf *out, const json_t *given)
{
    const char *string = json_string_value(given);
    size_t len = json_string_length(given);

    if (json_is_string(given)) {
        strbuf_addc(out, '"');
        strbuf_add(out, string, utf8_floor(string, len, len > MOST_QUOTED ? MOST_QUOTED : len));
        strbuf_adds(out, len > MOST_QUOTED ? "...\"" : "\"");
    } else if (json_is_integer(given)) {
        strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(given));
    } else if (json_is_real(given)) {
        strbuf_addf(out, "%.15g", json_real_value(given));
    } else {
        strbuf_adds(out, sort_text(json_typeof(given)));
    }
}

static json_t *reject(const struct tool_argument *a, const json_t *given, struct err *err)
{
    struct strbuf expected, got;

    strbuf_init(&expected, 0);
    strbuf_init(&got, 0);
    add_expectation(&expected, a);
    add_given(&got, given);
    err_set(err, ERR_INVALID, "Argument %s must be %s, got %s", a->name, strbuf_string(&expected),
            strbuf_string(&got));
    strbuf_fini(&expected);
    strbuf_fini(&got);
    return NULL;
}

/* A number, or a string that is a number. */
static bool read_number(const json_t *given, double *value)
{
    const char *string;
    char *end;

    if (json_is_number(given)) {
        *value = json_number_value(given);
        return true;
    }
    string = json_string_value(given);
    /* strtod accepts words and hexadecimal numbers too. */
    if (!string || !*string || strspn(string, "0123456789+-.eE") != json_string_length(given))
        return false;
    *value = strtod(string, &end);
    return *end == '\0' && isfinite(*value);
}

static json_t *check_number(const struct tool_argument *a, const json_t *given, struct err *err)
{
    double value;

    if (!read_number(given, &value) || (is_bounded(a) && (value < a->minimum || value > a->maximum)))
        return reject(a, given, err);
    if (json_is_integer(given))
        return json_integer(json_integer_value(given));
    /* Whole numbers of that size are exact in a double. */
    if (floor(value) >= value && fabs(value) <= 9007199254740992.0)
        return json_integer((json_int_t)value);
    if (a->type == ARGUMENT_INTEGER)
        return reject(a, given, err);
    return json_real(value);
}

/* Text for the Lisp may contain NULs; names and paths become C strings. */
static bool may_hold_nul(const struct tool_argument *a)
{
    return strcmp(a->name, "code") == 0 || strcmp(a->name, "value") == 0 || strcmp(a->name, "pattern") == 0;
}

static json_t *check_string(const struct tool_argument *a, const json_t *given, struct err *err)
{
    size_t i;

    /* Accept the number -1 for the text "-1": models send restarts and checkpoints that way. Code is never
     * a number. */
    if (json_is_integer(given) && !a->choices && strcmp(a->name, "code") != 0)
        return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(given));
    if (!json_is_string(given))
        return reject(a, given, err);
    if (!a->choices && !may_hold_nul(a) && strlen(json_string_value(given)) != json_string_length(given)) {
        err_set(err, ERR_INVALID, "Argument %s must not contain a NUL character", a->name);
        return NULL;
    }
    if (!a->choices)
        return json_stringn(json_string_value(given), json_string_length(given));
    for (i = 0; a->choices[i]; i++) {
        if (is_spelling_of(json_string_value(given), json_string_length(given), a->choices[i]))
            return json_string(a->choices[i]);
    }
    return reject(a, given, err);
}

static json_t *check_list(const struct tool_argument *a, const json_t *given, struct err *err)
{
    json_t *list, *element;
    size_t i;

    if (json_is_string(given))
        return json_pack("[o]", json_stringn(json_string_value(given), json_string_length(given)));
    if (!json_is_array(given))
        return reject(a, given, err);
    list = json_array();
    json_array_foreach(given, i, element)
    {
        if (!json_is_string(element)) {
            json_decref(list);
            err_set(err, ERR_INVALID, "Argument %s must be an array of strings, but element %zu is %s",
                    a->name, i + 1, sort_text(json_typeof(element)));
            return NULL;
        }
        json_array_append_new(list, json_stringn(json_string_value(element), json_string_length(element)));
    }
    return list;
}

static json_t *check_boolean(const struct tool_argument *a, const json_t *given, struct err *err)
{
    const char *word = json_string_value(given);
    if (json_is_boolean(given))
        return json_boolean(json_is_true(given));
    if (word != NULL && (strcmp(word, "true") == 0 || strcmp(word, "false") == 0))
        return json_boolean(word[0] == 't');
    return reject(a, given, err);
}

static json_t *check_value(const struct tool_argument *a, const json_t *given, struct err *err)
{
    switch (a->type) {
    case ARGUMENT_STRING:
        return check_string(a, given, err);
    case ARGUMENT_INTEGER:
    case ARGUMENT_NUMBER:
        return check_number(a, given, err);
    case ARGUMENT_BOOLEAN:
        return check_boolean(a, given, err);
    case ARGUMENT_STRING_LIST:
        return check_list(a, given, err);
    }
    return reject(a, given, err);
}

static void reject_unknown(const struct tool *tool, const char *name, struct err *err)
{
    const struct tool_argument *a;
    struct similar search;
    struct strbuf known;
    size_t len = strlen(name);

    similar_init(&search, name);
    strbuf_init(&known, 0);
    for (a = tool->arguments; a->name; a++) {
        similar_offer(&search, a->name);
        strbuf_addf(&known, "%s%s", a == tool->arguments ? "" : ", ", a->name);
    }
    err_set(err, ERR_INVALID, "Unknown argument %.*s.%s%s%s %s takes %s",
            (int)utf8_floor(name, len, len > MOST_QUOTED ? MOST_QUOTED : len), name,
            search.best ? " Did you mean " : "", search.best ? search.best : "", search.best ? "?" : "",
            tool->name, known.len ? known.bytes : "no arguments");
    strbuf_fini(&known);
}

static bool check_required(const struct tool *tool, const json_t *checked, struct err *err)
{
    const struct tool_argument *a;
    struct strbuf expected;

    for (a = tool->arguments; a->name; a++) {
        if (!a->is_required || json_object_get(checked, a->name))
            continue;
        strbuf_init(&expected, 0);
        add_expectation(&expected, a);
        err_set(err, ERR_INVALID, "Missing argument %s of %s: %s. %s", a->name, tool->name,
                strbuf_string(&expected), a->description);
        strbuf_fini(&expected);
        return false;
    }
    return true;
}

json_t *registry_check_arguments(const struct tool *tool, const json_t *given, struct err *err)
{
    const struct tool_argument *a;
    json_t *checked = json_object(), *value, *good;
    const char *name;
    void *at;

    /* jansson's iterator takes a pointer to non-const, and changes nothing. */
    for (at = json_object_iter((json_t *)(uintptr_t)given); at;
         at = json_object_iter_next((json_t *)(uintptr_t)given, at)) {
        name = json_object_iter_key(at);
        value = json_object_iter_value(at);
        if (json_is_null(value))
            continue;
        a = find_argument(tool, name);
        good = NULL;
        if (!a)
            reject_unknown(tool, name, err);
        else if (json_object_get(checked, a->name))
            err_set(err, ERR_INVALID, "Argument %s is given twice, once as %s", a->name, name);
        else
            good = check_value(a, value, err);
        if (!good) {
            json_decref(checked);
            return NULL;
        }
        json_object_set_new_nocheck(checked, a->name, good);
    }
    if (!check_required(tool, checked, err)) {
        json_decref(checked);
        return NULL;
    }
    return checked;
}

void registry_add_former(const char *asked, json_t *checked)
{
    const struct tool_former *former = find_former(asked);
    struct err err;
    if (former == NULL)
        former = find_former(without_namespace(asked));
    if (former == NULL || former->argument == NULL || json_object_get(checked, former->argument) != NULL)
        return;
    json_t *value = json_string(former->value);
    json_t *good = check_value(find_argument(former->tool, former->argument), value, &err);
    CHECK(good != NULL);
    json_object_set_new(checked, former->argument, good);
    json_decref(value);
}

/* A bound, as an integer if it is one. */
static json_t *bound(double value)
{
    return floor(value) >= value ? json_integer((json_int_t)value) : json_real(value);
}

/* The short listing omits what the argument's name or an error message also says. */
static json_t *argument_schema(const struct tool_argument *a, bool is_whole)
{
    static const char *const types[] = {
        [ARGUMENT_STRING] = "string",   [ARGUMENT_INTEGER] = "integer",   [ARGUMENT_NUMBER] = "number",
        [ARGUMENT_BOOLEAN] = "boolean", [ARGUMENT_STRING_LIST] = "array",
    };
    json_t *schema = json_object(), *choices;
    size_t i;

    json_object_set_new(schema, "type", json_string(types[a->type]));
    if (a->type == ARGUMENT_STRING_LIST)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if ((a->type == ARGUMENT_INTEGER || a->type == ARGUMENT_NUMBER) && is_bounded(a) && is_whole) {
        /* Bounds that nobody reaches only lengthen the list; they are checked all the same. */
        bool is_far = a->maximum >= FAR_MAXIMUM;
        if (!is_far || a->minimum > 0)
            json_object_set_new(schema, "minimum", bound(a->minimum));
        if (!is_far)
            json_object_set_new(schema, "maximum", bound(a->maximum));
    }
    if (a->choices) {
        choices = json_array();
        for (i = 0; a->choices[i]; i++)
            json_array_append_new(choices, json_string(a->choices[i]));
        json_object_set_new(schema, "enum", choices);
    }
    if (is_whole || !a->names_session)
        json_object_set_new(schema, "description", json_string(a->description));
    /* Over HTTP, clients repeat it in the header Mcp-Param-Session, where a load balancer can read it (MCP
     * 2026-07-28). */
    if (a->names_session)
        json_object_set_new(schema, "x-mcp-header", json_string("Session"));
    return schema;
}

/* A schema that strict clients accept: an object at the root, and always `properties`, even if there are
 * none. */
static json_t *input_schema(const struct tool *tool, bool is_whole)
{
    json_t *schema = json_object(), *properties = json_object(), *required = json_array();
    const struct tool_argument *a;

    for (a = tool->arguments; a->name; a++) {
        if (a->is_rare && !is_whole)
            continue;
        json_object_set_new(properties, a->name, argument_schema(a, is_whole));
        if (a->is_required)
            json_array_append_new(required, json_string(a->name));
    }
    json_object_set_new(schema, "type", json_string("object"));
    json_object_set_new(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    /* Other spellings of argument names are accepted, so the schema must not forbid them. */
    if (!tool->arguments[0].name)
        json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

/* destructiveHint and idempotentHint apply only to tools that are not read-only. The defaults that clients
 * assume, not idempotent and open-world, are not listed. */
static json_t *annotations_of(const struct tool *tool)
{
    json_t *annotations = json_pack("{s:b}", "readOnlyHint", tool->is_read_only);
    if (!tool->is_read_only)
        json_object_set_new(annotations, "destructiveHint", json_boolean(tool->is_destructive));
    if (!tool->is_read_only && tool->is_idempotent)
        json_object_set_new(annotations, "idempotentHint", json_true());
    if (!tool->is_open_world)
        json_object_set_new(annotations, "openWorldHint", json_false());
    return annotations;
}

/* Hints for clients that cut replies or search for tools: Claude Code reads these, others ignore them. */
static json_t *meta_of(const struct tool *tool)
{
    json_t *meta = json_object();
    if (tool->toolset == TOOLSET_CORE)
        json_object_set_new(meta, "anthropic/alwaysLoad", json_true());
    else if (tool->search_hint != NULL)
        json_object_set_new(meta, "anthropic/searchHint", json_string(tool->search_hint));
    if (tool->returns_long_text)
        json_object_set_new(meta, "anthropic/maxResultSizeChars", json_integer(LONG_TEXT_CHARACTERS));
    return meta;
}

static json_t *show(const struct tool *tool, bool is_whole)
{
    json_t *object = json_object(), *meta = meta_of(tool);

    json_object_set_new(object, "name", json_string(tool->name));
    json_object_set_new(object, "title", json_string(tool->title));
    json_object_set_new(object, "description", json_string(tool->description));
    json_object_set_new(object, "inputSchema", input_schema(tool, is_whole));
    json_object_set_new(object, "annotations", annotations_of(tool));
    if (json_object_size(meta) > 0)
        json_object_set(object, "_meta", meta);
    json_decref(meta);
    return object;
}

json_t *registry_show(const struct tool *tool)
{
    return show(tool, true);
}

/* How much of a tool is listed. */
enum shown { SHOWN_NOT, SHOWN_SHORT, SHOWN_WHOLE };

/* Does one element of the list, ${len} bytes, name a set or tools? Marks what it names in ${shown}: the
 * smaller sets show tools without their rare arguments. */
static bool choose(const char *name, size_t len, enum shown *shown)
{
    static const char *const sets[] = {
        [TOOLSET_CORE] = "core", [TOOLSET_STANDARD] = "standard", [TOOLSET_FULL] = "full"};
    size_t set, i;
    bool is_known = false;

    for (set = 0; set < sizeof sets / sizeof *sets; set++) {
        if (!is_spelling_of(name, len, sets[set]))
            continue;
        for (i = 0; i < tool_table_count; i++) {
            if (set == TOOLSET_FULL)
                shown[i] = SHOWN_WHOLE;
            else if (tool_table[i]->toolset <= set && shown[i] == SHOWN_NOT)
                shown[i] = SHOWN_SHORT;
        }
        return true;
    }
    for (i = 0; i < tool_table_count; i++) {
        if (is_spelling_of(name, len, tool_table[i]->name)) {
            is_known = true;
            shown[i] = SHOWN_WHOLE;
        }
    }
    return is_known;
}

static bool choose_all(const char *spec, enum shown *shown, struct err *err)
{
    const char *name = spec, *end, *nearest;
    char asked[SIMILAR_MAX + 1];
    size_t len;

    for (;;) {
        while (*name == ' ')
            name++;
        end = name + strcspn(name, ",");
        for (len = (size_t)(end - name); len > 0 && name[len - 1] == ' '; len--)
            continue;
        if (!choose(name, len, shown)) {
            snprintf(asked, sizeof asked, "%.*s", (int)(len < SIMILAR_MAX ? len : SIMILAR_MAX), name);
            nearest = registry_nearest(asked);
            return err_set(err, ERR_INVALID, "unknown tool \"%s\"%s%s%s", asked,
                           nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
        }
        if (!*end)
            return true;
        name = end + 1;
    }
}

json_t *registry_listing(const char *spec, struct err *err)
{
    enum shown *shown = xcalloc(tool_table_count + 1, sizeof *shown);
    json_t *listing = NULL;
    size_t i;

    if (choose_all(spec, shown, err)) {
        listing = json_array();
        for (i = 0; i < tool_table_count; i++) {
            if (shown[i] != SHOWN_NOT)
                json_array_append_new(listing, show(tool_table[i], shown[i] == SHOWN_WHOLE));
        }
    }
    free(shown);
    return listing;
}
