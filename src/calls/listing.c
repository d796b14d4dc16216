/*
 * Responsible for listing tools: their schemas, and which of them a listing contains.
 */
#include "calls/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/similar.h"
#include "calls/arguments.h"
#include "calls/registry.h"
#include "events/audit.h"
#include "report/section.h"

#define MOST_CHOICES 8 /* of an argument, that are listed */

/* A bound, as an integer if it is one. */
static json_t *bound(double value)
{
    return floor(value) >= value ? json_integer((json_int_t)value) : json_real(value);
}

/* Of the server's own tools, the bounds of numbers and long lists of choices would only lengthen the list; a
 * message about a wrong value has them. */
static json_t *argument_schema(const struct tool_argument *a, bool is_users)
{
    json_t *schema = json_pack("{s:s}", "type", argument_words[a->type].schema);
    if (a->type == ARGUMENT_STRING_LIST)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    size_t count = 0;
    while (a->choices != NULL && a->choices[count] != NULL)
        count++;
    if (is_users && arguments_is_bounded(a)) {
        json_object_set_new(schema, "minimum", bound(a->minimum));
        json_object_set_new(schema, "maximum", bound(a->maximum));
    }
    if (count > 0 && (is_users || count <= MOST_CHOICES)) {
        json_t *choices = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(choices, json_string(a->choices[i]));
        json_object_set_new(schema, "enum", choices);
    }
    if (a->description[0] != '\0')
        json_object_set_new(schema, "description", json_string(a->description));
    /* Over HTTP, clients repeat it in the header Mcp-Param-Session, where a load balancer can read it (MCP
     * 2026-07-28). */
    if (a->names_session)
        json_object_set_new(schema, "x-mcp-header", json_string("Session"));
    return schema;
}

/* A schema that strict clients accept: an object at the root, and always `properties`, even if there are
 * none. */
static json_t *input_schema(const struct tool *tool, bool is_users)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        json_object_set_new(properties, a->name, argument_schema(a, is_users));
        if (a->is_required && a->excludes == NULL)
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

/* What clients assume of a tool that does not say otherwise is left out: that it changes something, that a
 * repetition changes more, and that it reaches beyond the session. destructiveHint is listed in any case,
 * because clients ask for approval by it; of what is not destructive, they ask whether it stays in the
 * session. */
static json_t *annotations_of(const struct tool *tool)
{
    if (tool->is_read_only)
        return json_pack("{s:b}", "readOnlyHint", true);
    json_t *annotations = json_pack("{s:b}", "destructiveHint", tool->is_destructive);
    if (!tool->is_destructive && !tool->is_open_world)
        json_object_set_new(annotations, "openWorldHint", json_false());
    return annotations;
}

static json_t *show(const struct tool *tool, bool is_users)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", tool->name, "title", tool->title, "description",
                     tool->description, "inputSchema", input_schema(tool, is_users), "annotations",
                     annotations_of(tool));
}

json_t *listing_of_tool(const struct tool *tool)
{
    json_t *shown = show(tool, true), *marked = audit_shown(shown, false);
    json_decref(shown);
    return marked;
}

/* Does it spell a set of tools? */
static bool is_former_set(const char *name, size_t len)
{
    return similar_is_spelling(name, len, "core") || similar_is_spelling(name, len, "standard") ||
           similar_is_spelling(name, len, "full");
}

bool listing_is_former_set(const char *spec)
{
    return is_former_set(spec, strlen(spec));
}

/* Does one element of the list, ${len} bytes, name a tool? Marks it in ${is_shown}; every one, if the element
 * is the name of a former set. */
static bool choose(const struct tool_table *table, const char *name, size_t len, bool *is_shown)
{
    bool is_set = is_former_set(name, len), is_known = false;
    for (size_t i = 0; i < registry_count(table); i++) {
        bool is_named = is_set || similar_is_spelling(name, len, registry_at(table, i)->name);
        is_shown[i] = is_shown[i] || is_named;
        is_known = is_known || is_named;
    }
    return is_known;
}

static bool choose_all(const struct tool_table *table, const char *spec, bool *is_shown, struct err *err)
{
    for (const char *name = spec, *end;; name = end + 1) {
        name += strspn(name, " ");
        end = name + strcspn(name, ",");
        size_t len = (size_t)(end - name);
        while (len > 0 && name[len - 1] == ' ')
            len--;
        if (!choose(table, name, len, is_shown)) {
            char asked[SIMILAR_MAX + 1];
            snprintf(asked, sizeof asked, "%.*s", (int)(len < SIMILAR_MAX ? len : SIMILAR_MAX), name);
            const char *nearest = registry_nearest(table, asked);
            return err_set(err, ERR_INVALID, "unknown tool \"%s\"%s%s%s", asked,
                           nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                           nearest != NULL ? "?" : "");
        }
        if (*end == '\0')
            return true;
    }
}

json_t *listing_of(const struct tool_table *table, const char *spec, struct err *err)
{
    bool *is_shown = xcalloc(registry_count(table) + 1, sizeof *is_shown);
    json_t *listing = NULL;
    if (spec == NULL || choose_all(table, spec, is_shown, err)) {
        listing = json_array();
        for (size_t i = 0; i < registry_count(table); i++)
            if (spec == NULL || is_shown[i])
                json_array_append_new(listing, show(registry_at(table, i), false));
    }
    free(is_shown);
    return listing;
}

bool listing_has(const struct tool_table *table, const char *spec, const struct tool *tool)
{
    bool *is_shown = xcalloc(registry_count(table) + 1, sizeof *is_shown), is_there = false;
    struct err err;
    bool is_known = spec == NULL || choose_all(table, spec, is_shown, &err);
    for (size_t i = 0; i < registry_count(table) && is_known; i++)
        is_there = is_there || (registry_at(table, i) == tool && (spec == NULL || is_shown[i]));
    free(is_shown);
    return is_there;
}

/* The tool that the word is called; NULL if it is none. */
static const struct tool *find_word(const struct tool_table *table, const char *word, size_t len)
{
    for (size_t i = 0; i < registry_count(table); i++) {
        const struct tool *tool = registry_at(table, i);
        if (strlen(tool->name) == len && memcmp(tool->name, word, len) == 0)
            return tool;
    }
    return NULL;
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || c == '-';
}

static bool names_absent(const struct tool_table *table, const char *spec, const char *text, size_t len)
{
    for (size_t at = 0, end; at < len; at = end + (end == at)) {
        for (end = at; end < len && is_of_name(text[end]);)
            end++;
        const struct tool *tool = find_word(table, text + at, end - at);
        bool is_lisp = at > 0 && text[at - 1] == ':'; /* asdf:load-system */
        if (tool != NULL && !is_lisp && !listing_has(table, spec, tool))
            return true;
    }
    return false;
}

/* Does the sentence go on behind the end of the line at ${at}? Then it has no stop, and the next line begins
 * as no sentence does. */
static bool goes_on(const char *text, size_t len, size_t at)
{
    const char *next = text + at + 1, *end = text + len;
    while (next < end && *next == ' ')
        next++;
    return at > 0 && strchr(".:", text[at - 1]) == NULL && next < end && *next >= 'a' && *next <= 'z';
}

/* Where the sentence that begins at ${at} ends, with the blank or the end of line behind it. The stop behind
 * the number of an item ends none. */
static size_t sentence_end(const char *text, size_t len, size_t at)
{
    for (; at < len; at++) {
        bool is_stop = at > 0 && text[at] == ' ' && text[at - 1] == '.' &&
                       (at < 2 || text[at - 2] < '0' || text[at - 2] > '9');
        if (is_stop || (text[at] == '\n' && !goes_on(text, len, at)))
            return at + 1;
    }
    return len;
}

/* How much of the sentence remains: all of it, or its clauses before the one that names an absent tool. What
 * follows a semicolon may refer to what stands before it. */
static size_t kept_of(const struct tool_table *table, const char *spec, const char *sentence, size_t len)
{
    size_t kept = 0;
    for (size_t end = 0; kept < len; kept = end) {
        const char *stop = memchr(sentence + kept, ';', len - kept);
        end = stop == NULL ? len : (size_t)(stop - sentence) + 1;
        if (names_absent(table, spec, sentence + kept, end - kept))
            break;
    }
    return kept;
}

void listing_add_text(const struct tool_table *table, const char *spec, const char *text, size_t len,
                      struct strbuf *out)
{
    size_t start = out->len;
    for (size_t at = 0, end; at < len; at = end) {
        end = sentence_end(text, len, at);
        size_t kept = spec == NULL ? end - at : kept_of(table, spec, text + at, end - at);
        strbuf_add(out, text + at, kept);
        if (at + kept == end)
            continue;
        if (kept > 0) { /* without its semicolon */
            out->bytes[out->len - 1] = '.';
            strbuf_addc(out, text[end - 1] == '\n' ? '\n' : ' ');
        } else if (text[end - 1] == '\n' && out->len > start && out->bytes[out->len - 1] == ' ') {
            out->bytes[out->len - 1] = '\n';
        }
        while (end == len && out->len > start && strchr(" \n", out->bytes[out->len - 1]) != NULL)
            out->bytes[--out->len] = '\0';
    }
}

void listing_prune_hints(const struct tool_table *table, const char *spec, struct strbuf *text)
{
    const char *heading = section_heading(HEADING_HINT);
    size_t heading_len = strlen(heading);
    struct strbuf out = {.limit = text->limit};
    size_t at = 0;
    const char *found;
    if (spec == NULL || text->len == 0)
        return;
    while ((found = memmem(text->bytes + at, text->len - at, heading, heading_len)) != NULL) {
        size_t start = (size_t)(found - text->bytes), body = start + heading_len;
        const char *next = memmem(text->bytes + body, text->len - body, "\n\n", 2);
        size_t end = next == NULL ? text->len : (size_t)(next - text->bytes);
        strbuf_add(&out, text->bytes + at, body - at);
        at = body;
        if (start > 0 && text->bytes[start - 1] != '\n')
            continue;
        size_t before = out.len;
        listing_add_text(table, spec, text->bytes + body, end - body, &out);
        if (out.len == before) { /* nothing is left: the heading goes, and the blank line before it */
            out.len -= heading_len + (start > 1 ? 2 : 0);
            out.bytes[out.len] = '\0';
        }
        at = end;
    }
    strbuf_add(&out, text->bytes + at, text->len - at);
    strbuf_fini(text);
    *text = out;
    text->settled = text->len;
}
