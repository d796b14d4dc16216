/*
 * Responsible for listing tools: their schemas, and which of them a listing contains.
 */
#include "tools/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/arguments.h"
#include "tools/audit.h"
#include "tools/registry.h"
#include "tools/similar.h"
#include "tools/table.h"

#define LONG_TEXT_CHARACTERS 500000 /* the maximum that Claude Code allows */
#define FAR_MAXIMUM 86400           /* an argument's maximum from here on is not listed */

/* A bound, as an integer if it is one. */
static json_t *bound(double value)
{
    return floor(value) >= value ? json_integer((json_int_t)value) : json_real(value);
}

/* The short listing omits what the argument's name or an error message also says. */
static json_t *argument_schema(const struct tool_argument *a, bool is_whole)
{
    json_t *schema = json_pack("{s:s}", "type", argument_words[a->type].schema);
    if (a->type == ARGUMENT_STRING_LIST)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if ((a->type == ARGUMENT_INTEGER || a->type == ARGUMENT_NUMBER) && arguments_is_bounded(a) && is_whole) {
        /* Bounds that are never reached only lengthen the list; they are checked all the same. */
        bool is_far = a->maximum >= FAR_MAXIMUM;
        if (!is_far || a->minimum > 0)
            json_object_set_new(schema, "minimum", bound(a->minimum));
        if (!is_far)
            json_object_set_new(schema, "maximum", bound(a->maximum));
    }
    if (a->choices != NULL) {
        json_t *choices = json_array();
        for (size_t i = 0; a->choices[i] != NULL; i++)
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
    json_t *properties = json_object(), *required = json_array();
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        if (a->is_rare && !is_whole)
            continue;
        json_object_set_new(properties, a->name, argument_schema(a, is_whole));
        if (a->is_required)
            json_array_append_new(required, json_string(a->name));
    }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    /* Other spellings of argument names are accepted, so the schema must not forbid them. */
    if (tool->arguments[0].name == NULL)
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

/* Hints for clients that cut replies or search for tools: Claude Code reads these, others ignore them. NULL
 * if there are none. */
static json_t *meta_of(const struct tool *tool, bool is_core)
{
    json_t *meta =
        json_pack("{s:o*, s:s*, s:o*}", "anthropic/alwaysLoad", is_core ? json_true() : NULL,
                  "anthropic/searchHint", is_core ? NULL : tool->search_hint, "anthropic/maxResultSizeChars",
                  tool->returns_long_text ? json_integer(LONG_TEXT_CHARACTERS) : NULL);
    if (json_object_size(meta) > 0)
        return meta;
    json_decref(meta);
    return NULL;
}

static json_t *show(const struct tool *tool, bool is_whole, bool is_core)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o*}", "name", tool->name, "title", tool->title,
                     "description", tool->description, "inputSchema", input_schema(tool, is_whole),
                     "annotations", annotations_of(tool), "_meta", meta_of(tool, is_core));
}

json_t *listing_of_tool(const struct tool *tool)
{
    json_t *shown = show(tool, true, true), *marked = audit_shown(shown, false);
    json_decref(shown);
    return marked;
}

const char *const listing_sets[] = {
    [TOOLSET_CORE] = "core", [TOOLSET_STANDARD] = "standard", [TOOLSET_FULL] = "full"};

/* How much of a tool is listed. */
enum shown { SHOWN_NOT, SHOWN_SHORT, SHOWN_WHOLE };

/* Does one element of the list, ${len} bytes, name a set or tools? Marks what it names in ${shown}: the
 * smaller sets show tools without their rare arguments. */
static bool choose(const char *name, size_t len, enum shown *shown)
{
    for (size_t set = 0; set <= TOOLSET_FULL; set++) {
        if (!registry_is_spelling(name, len, listing_sets[set]))
            continue;
        for (size_t i = 0; i < registry_count(); i++) {
            if (set == TOOLSET_FULL)
                shown[i] = SHOWN_WHOLE;
            else if (tool_table[i].toolset <= set && shown[i] == SHOWN_NOT)
                shown[i] = SHOWN_SHORT;
        }
        return true;
    }
    bool is_known = false;
    for (size_t i = 0; i < registry_count(); i++) {
        if (registry_is_spelling(name, len, registry_at(i)->name)) {
            is_known = true;
            shown[i] = SHOWN_WHOLE;
        }
    }
    return is_known;
}

static bool choose_all(const char *spec, enum shown *shown, struct err *err)
{
    for (const char *name = spec, *end;; name = end + 1) {
        name += strspn(name, " ");
        end = name + strcspn(name, ",");
        size_t len = (size_t)(end - name);
        while (len > 0 && name[len - 1] == ' ')
            len--;
        if (!choose(name, len, shown)) {
            char asked[SIMILAR_MAX + 1];
            snprintf(asked, sizeof asked, "%.*s", (int)(len < SIMILAR_MAX ? len : SIMILAR_MAX), name);
            const char *nearest = registry_nearest(asked);
            return err_set(err, ERR_INVALID, "unknown tool \"%s\"%s%s%s", asked,
                           nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                           nearest != NULL ? "?" : "");
        }
        if (*end == '\0')
            return true;
    }
}

json_t *listing_of(const char *spec, struct err *err)
{
    enum shown *shown = xcalloc(registry_count() + 1, sizeof *shown);
    json_t *listing = NULL;
    if (choose_all(spec, shown, err)) {
        listing = json_array();
        for (size_t i = 0; i < registry_count(); i++) {
            if (shown[i] != SHOWN_NOT)
                json_array_append_new(listing, show(registry_at(i), shown[i] == SHOWN_WHOLE,
                                                    tool_table[i].toolset == TOOLSET_CORE));
        }
    }
    free(shown);
    return listing;
}
