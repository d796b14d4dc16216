/*
 * Responsible for the server's table in a TOML file, [mcp_servers.NAME]: it is appended to the file, found by
 * its header, and removed together with its subtables.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_edit.h"
#include "cli/toml_lines.h"

enum { MOST_COMMAND_TEXT = 2 * PATH_MAX };

struct table {
    bool is_there;
    size_t from, to;         /* its header and its keys */
    size_t all_from, all_to; /* including its subtables, wherever they are */
    char command[PATH_MAX];
};

/* Is the statement in the wanted table, or in one of its subtables? */
static bool is_within(const struct toml_statement *s, const char *container, const char *name)
{
    return s->part_count >= 2 && strcmp(s->parts[0], container) == 0 && strcmp(s->parts[1], name) == 0;
}

/* The text of the string, if the value is a string on a single line. */
static void read_string(const char *value, size_t len, char *out, size_t size)
{
    out[0] = '\0';
    if (len < 2 || len > MOST_COMMAND_TEXT)
        return;
    if (value[0] == '\'' && len - 2 < size && value[1] != '\'') {
        memcpy(out, value + 1, len - 2);
        out[len - 2] = '\0';
    }
    /* The escapes that TOML and JSON have in common; a path contains no others. */
    json_t *string = value[0] == '"' ? json_loadb(value, len, JSON_DECODE_ANY, NULL) : NULL;
    if (json_is_string(string) && json_string_length(string) < size)
        memcpy(out, json_string_value(string), json_string_length(string) + 1);
    json_decref(string);
}

static bool is_elsewhere(const char *container, const char *name, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "the server is written in another way than as a table [%s.%s]; change it by hand",
                   container, name);
}

/* Does the statement define the server other than by a table of its own? ${current} is the header above
 * it; its kind is TOML_EMPTY before the first. */
static bool is_written_otherwise(const struct toml_statement *s, const struct toml_statement *current,
                                 const char *container, const char *name)
{
    if (s->kind == TOML_TABLE_IN_ROW)
        return s->part_count <= 2 && strcmp(s->parts[0], container) == 0 &&
               (s->part_count == 1 || strcmp(s->parts[1], name) == 0);
    if (s->kind != TOML_KEY)
        return false;
    if (current->kind == TOML_EMPTY)
        return strcmp(s->parts[0], container) == 0 && (s->part_count == 1 || strcmp(s->parts[1], name) == 0);
    return current->kind == TOML_TABLE && current->part_count == 1 &&
           strcmp(current->parts[0], container) == 0 && strcmp(s->parts[0], name) == 0;
}

static bool find_table(const struct config_text *text, const char *container, const char *name,
                       struct table *out, struct err *err)
{
    struct toml_lines lines;
    struct toml_statement s, current = {.kind = TOML_EMPTY};
    *out = (struct table){.is_there = false};
    toml_lines_init(&lines, text->bytes, text->len);
    while (toml_lines_next(&lines, &s, err)) {
        bool is_header = s.kind == TOML_TABLE || s.kind == TOML_TABLE_IN_ROW;
        if (is_written_otherwise(&s, &current, container, name))
            return is_elsewhere(container, name, err);
        if (is_header)
            current = s;
        bool is_ours = current.kind != TOML_EMPTY && is_within(&current, container, name);
        if (!is_ours || s.kind == TOML_EMPTY)
            continue;
        bool is_table_itself = current.part_count == 2;
        if (out->all_to == 0)
            out->all_from = s.from;
        if (is_header && is_table_itself) {
            if (out->is_there)
                return err_set(err, ERR_SYNTAX, "the table [%s.%s] is there twice", container, name);
            out->is_there = true;
            out->from = s.from;
        }
        if (is_table_itself)
            out->to = s.to;
        out->all_to = s.to;
        if (is_table_itself && s.kind == TOML_KEY && s.part_count == 1 && strcmp(s.parts[0], "command") == 0)
            read_string(text->bytes + s.value, s.value_end - s.value, out->command, sizeof out->command);
    }
    if (err->code == ERR_NONE && !out->is_there && out->all_to > 0)
        return is_elsewhere(container, name, err);
    return err->code == ERR_NONE;
}

static bool toml_find(const struct config_text *text, const struct config_place *place, const char *name,
                      struct config_found *out, struct err *err)
{
    struct table table;
    *out = (struct config_found){.presence = PRESENCE_NONE};
    if (!find_table(text, place->container, name, &table, err))
        return false;
    if (table.is_there)
        out->presence = is_our_command(table.command) ? PRESENCE_OURS : PRESENCE_OTHER;
    memcpy(out->command, table.command, sizeof out->command);
    return true;
}

/* TOML's basic strings are JSON's, except that DEL must be escaped; a path or an option contains none. */
static void add_string(struct strbuf *out, const char *text)
{
    json_t *string = json_string(text);
    char *dumped = json_dumps(string, JSON_ENCODE_ANY);
    strbuf_adds(out, dumped);
    free(dumped);
    json_decref(string);
}

static bool has_arguments(const struct server_entry *entry)
{
    return entry->arguments != NULL && entry->arguments[0] != NULL;
}

static void add_arguments(struct strbuf *out, const struct server_entry *entry)
{
    strbuf_addc(out, '[');
    for (size_t i = 0; entry->arguments != NULL && entry->arguments[i] != NULL; i++) {
        strbuf_adds(out, i == 0 ? "" : ", ");
        add_string(out, entry->arguments[i]);
    }
    strbuf_addc(out, ']');
}

static void make_table(const struct config_text *text, const char *container,
                       const struct server_entry *entry, struct splice *out)
{
    const char *newline = config_newline(text);
    struct strbuf block;
    strbuf_init(&block, 0);
    strbuf_addf(&block, "[%s.%s]%scommand = ", container, entry->name, newline);
    add_string(&block, entry->command);
    strbuf_adds(&block, newline);
    if (has_arguments(entry)) {
        strbuf_adds(&block, "args = ");
        add_arguments(&block, entry);
        strbuf_adds(&block, newline);
    }
    config_append(text, &block, out);
    strbuf_fini(&block);
}

/* Replace the values of command and args in the table; keep everything else. */
static void update_table(const struct config_text *text, const struct table *table,
                         const struct server_entry *entry, struct splice *out)
{
    struct toml_lines lines;
    struct toml_statement s;
    struct err err;
    struct strbuf made;
    bool needs_arguments = has_arguments(entry);
    size_t copied = table->from;
    strbuf_init(&made, 0);
    toml_lines_init(&lines, text->bytes, text->len);
    while (toml_lines_next(&lines, &s, &err) && s.from < table->to) {
        if (s.from < table->from || s.kind != TOML_KEY || s.part_count != 1)
            continue;
        bool is_command = strcmp(s.parts[0], "command") == 0;
        bool is_arguments = strcmp(s.parts[0], "args") == 0;
        if (!is_command && (!is_arguments || entry->arguments == NULL))
            continue;
        strbuf_add(&made, text->bytes + copied, s.value - copied);
        if (is_command)
            add_string(&made, entry->command);
        else
            add_arguments(&made, entry);
        needs_arguments = needs_arguments && !is_arguments;
        copied = s.value_end;
    }
    strbuf_add(&made, text->bytes + copied, table->to - copied);
    if (needs_arguments) {
        bool has_end = made.bytes[made.len - 1] == '\n';
        strbuf_addf(&made, "%sargs = ", has_end ? "" : config_newline(text));
        add_arguments(&made, entry);
        strbuf_adds(&made, has_end ? config_newline(text) : "");
    }
    size_t len = table->to - table->from;
    if (made.len != len || memcmp(made.bytes, text->bytes + table->from, len) != 0) {
        out->at = table->from;
        out->removed = len;
        strbuf_add(&out->text, made.bytes, made.len);
    }
    strbuf_fini(&made);
}

static bool toml_install(const struct config_text *text, const struct config_place *place,
                         const struct server_entry *entry, struct splice *out, struct err *err)
{
    struct table table;
    if (!find_table(text, place->container, entry->name, &table, err))
        return false;
    if (table.is_there && !is_our_command(table.command))
        return config_is_others(entry->name, err);
    if (table.is_there)
        update_table(text, &table, entry, out);
    else
        make_table(text, place->container, entry, out);
    return true;
}

/* Keep other tables that are between those of the server, with the comments above their headers. */
static void keep_others(const struct config_text *text, const struct table *table, const char *container,
                        const char *name, struct splice *out)
{
    struct toml_lines lines;
    struct toml_statement s;
    struct err err;
    bool is_ours = true;
    size_t kept_from = 0; /* after the last key or header of the server */
    toml_lines_init(&lines, text->bytes, text->len);
    while (toml_lines_next(&lines, &s, &err) && s.from < table->all_to) {
        if (s.kind == TOML_TABLE || s.kind == TOML_TABLE_IN_ROW)
            is_ours = is_within(&s, container, name);
        if (s.from < table->all_from || (is_ours && s.kind != TOML_EMPTY))
            kept_from = s.to;
        if (s.from >= table->all_from && !is_ours) {
            strbuf_add(&out->text, text->bytes + kept_from, s.to - kept_from);
            kept_from = s.to;
        }
    }
}

static bool toml_uninstall(const struct config_text *text, const struct config_place *place, const char *name,
                           struct splice *out, struct err *err)
{
    struct table table;
    if (!find_table(text, place->container, name, &table, err))
        return false;
    if (table.is_there && !is_our_command(table.command))
        return config_is_others(name, err);
    if (!table.is_there)
        return true;
    config_cut(text, table.all_from, table.all_to, out);
    keep_others(text, &table, place->container, name, out);
    out->removes_file = out->removes_file && out->text.len == 0;
    return true;
}

const struct config_editor toml_editor = {
    .find = toml_find,
    .install = toml_install,
    .uninstall = toml_uninstall,
};
