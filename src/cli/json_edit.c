/*
 * Responsible for the server's member in a JSON file, with or without comments.
 *
 * A new member goes in front of the others, so that their commas and the comments after them do not
 * change. To remove it, the editor must know which objects were created for it. The text shows this: in an
 * object that already existed, the new member directly follows the brace; in one that was created, a space
 * or a newline precedes it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/config_edit.h"
#include "cli/json_members.h"

enum { ROOT, CONTAINER }; /* levels */
#define MOST_INDENT 64

/* Where the servers are in this file. ROOT is the object that has the member with all servers. */
struct json_place {
    struct json_members members;
    bool is_newer; /* that member is config_place.newer, so ROOT is not the root of the file */
};

/* In the older form, a server may be called what config_place.newer says. */
static bool is_server(const struct config_text *text, const struct json_member *member)
{
    json_t *value = json_members_value(text->bytes, member->value, member->value_end);
    bool is_one =
        json_is_string(json_object_get(value, "type")) || json_is_boolean(json_object_get(value, "enabled"));
    json_decref(value);
    return is_one;
}

static bool find_newer(const struct config_text *text, const struct config_place *place, const char *name,
                       struct json_place *out, struct err *err)
{
    const char *path[] = {place->container, place->newer, name, NULL};
    struct json_members *members = &out->members;
    if (!json_members_find(text->bytes, text->len, path, members, err))
        return false;
    out->is_newer = members->members[CONTAINER].is_object && !is_server(text, &members->members[CONTAINER]);
    if (out->is_newer) { /* from here on the two forms differ only in where ROOT is */
        memmove(members->members, members->members + 1, 2 * sizeof members->members[0]);
        memmove(members->objects, members->objects + 1, 2 * sizeof members->objects[0]);
    }
    return true;
}

static bool find_members(const struct config_text *text, const struct config_place *place, const char *name,
                         struct json_place *out, struct err *err)
{
    out->is_newer = false;
    if (place->newer != NULL && !find_newer(text, place, name, out, err))
        return false;
    const char *path[] = {place->container, name, NULL};
    if (!out->is_newer && !json_members_find(text->bytes, text->len, path, &out->members, err))
        return false;
    const struct json_member *container = &out->members.members[ROOT];
    if (container->is_there && !container->is_object)
        return err_set(err, ERR_INVALID, "\"%s\" is not an object", place->container);
    return true;
}

static json_t *entry_value(const struct config_text *text, const struct json_members *members)
{
    const struct json_member *entry = &members->members[CONTAINER];
    return entry->is_there ? json_members_value(text->bytes, entry->value, entry->value_end) : NULL;
}

/* The program that an entry runs; NULL if it names none. */
static const char *command_of(const json_t *value)
{
    const json_t *command = json_object_get(value, "command");
    return json_string_value(json_is_array(command) ? json_array_get(command, 0) : command);
}

static bool json_find(const struct config_text *text, const struct config_place *place, const char *name,
                      struct config_found *out, struct err *err)
{
    struct json_place found;
    *out = (struct config_found){.presence = PRESENCE_NONE};
    if (!find_members(text, place, name, &found, err))
        return false;
    if (found.members.members[CONTAINER].is_there) {
        json_t *value = entry_value(text, &found.members);
        const char *command = command_of(value);
        out->presence = is_our_command(command) ? PRESENCE_OURS : PRESENCE_OTHER;
        if (command != NULL && strlen(command) < sizeof out->command)
            memcpy(out->command, command, strlen(command) + 1);
        json_decref(value);
    }
    return true;
}

static json_t *make_value(const struct config_place *place, bool is_newer, const struct server_entry *entry)
{
    json_t *value = json_object(), *arguments = json_array();
    json_t *command = json_string(entry->command);
    if (place->shape == SHAPE_COMBINED)
        json_array_append(arguments, command);
    for (size_t i = 0; entry->arguments != NULL && entry->arguments[i] != NULL; i++)
        json_array_append_new(arguments, json_string(entry->arguments[i]));
    switch (place->shape) {
    case SHAPE_COMBINED:
        json_object_set_new(value, "type", json_string("local"));
        json_object_set(value, "command", arguments);
        if (!is_newer)
            json_object_set_new(value, "enabled", json_true());
        break;
    case SHAPE_STDIO:
        json_object_set_new(value, "type", json_string("stdio"));
        break;
    case SHAPE_CUSTOM:
        json_object_set_new(value, "source", json_string("custom"));
        break;
    case SHAPE_PLAIN:
        break;
    }
    if (place->shape != SHAPE_COMBINED) {
        json_object_set(value, "command", command);
        json_object_set(value, "args", arguments);
    }
    json_decref(command);
    json_decref(arguments);
    return value;
}

/* The indentation of the line of ${at}, if only white space precedes ${at}; otherwise NULL. */
static char *indent_of(const struct config_text *text, size_t at)
{
    size_t start = at;
    while (start > 0 && (text->bytes[start - 1] == ' ' || text->bytes[start - 1] == '\t') &&
           at - start < MOST_INDENT)
        start--;
    bool is_line_start = start == 0 || text->bytes[start - 1] == '\n';
    return is_line_start ? xmemdup0(text->bytes + start, at - start) : NULL;
}

/*
 * Where to put a member in front of the others: the end of the line with the opening brace, if nothing
 * but comments follow the brace there; otherwise directly after the brace.
 */
static size_t front_of(const struct config_text *text, const struct json_object *object, bool *is_line_end)
{
    const char *bytes = text->bytes;
    size_t behind = object->open + 1;
    const char *newline = memchr(bytes + behind, '\n', text->len - behind);
    *is_line_end = false;
    if (object->count == 0 || newline == NULL)
        return behind;
    size_t end = (size_t)(newline - bytes);
    /* It stops at a member in this line, and at a comment of more than one line. */
    if (json_members_skip(bytes, behind, end) < end)
        return behind;
    *is_line_end = true;
    return end > behind && bytes[end - 1] == '\r' ? end - 1 : end;
}

/* "NAME": VALUE */
static void add_member(struct strbuf *out, const char *name, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    strbuf_addf(out, "\"%s\": %s", name, text);
    free(text);
}

/* A new file, or a file without a value. Its text stays in front. */
static void make_root(const struct config_text *text, const struct config_place *place, const char *name,
                      const json_t *value, struct splice *out)
{
    const char *newline = config_newline(text);
    bool has_end = text->is_missing || (text->len > 0 && text->bytes[text->len - 1] == '\n');
    out->at = text->len;
    if (text->len > 0 && !has_end)
        strbuf_adds(&out->text, newline);
    strbuf_addf(&out->text, "{%s  \"%s\": {%s    ", newline, place->container, newline);
    add_member(&out->text, name, value);
    strbuf_addf(&out->text, "%s  }%s}%s", newline, newline, has_end ? newline : "");
}

static void make_container(const struct config_text *text, const struct config_place *place,
                           const struct json_members *members, const char *name, const json_t *value,
                           struct splice *out)
{
    const struct json_object *root = &members->objects[ROOT];
    const char *newline = config_newline(text);
    bool is_line_end;
    out->at = front_of(text, root, &is_line_end);
    char *indent = is_line_end ? indent_of(text, root->first_key) : NULL;
    if (is_line_end) {
        const char *step = indent != NULL && indent[0] != '\0' ? indent : "  ";
        strbuf_addf(&out->text, "%s%s\"%s\": {%s%s%s", newline, step, place->container, newline, step, step);
        add_member(&out->text, name, value);
        strbuf_addf(&out->text, "%s%s},", newline, step);
    } else {
        strbuf_addf(&out->text, "\"%s\": { ", place->container);
        add_member(&out->text, name, value);
        strbuf_adds(&out->text, root->count > 0 ? " }," : " }");
    }
    free(indent);
}

static void make_entry(const struct config_text *text, const struct json_members *members, const char *name,
                       const json_t *value, struct splice *out)
{
    const struct json_object *container = &members->objects[CONTAINER];
    bool is_line_end;
    out->at = front_of(text, container, &is_line_end);
    char *indent = is_line_end ? indent_of(text, container->first_key) : NULL;
    if (is_line_end)
        strbuf_addf(&out->text, "%s%s", config_newline(text), indent != NULL ? indent : "    ");
    add_member(&out->text, name, value);
    if (container->count > 0)
        strbuf_addc(&out->text, ',');
    free(indent);
}

/* Give the new ${value} the arguments that the entry has now. */
static void keep_arguments(const json_t *now, json_t *value)
{
    json_t *command = json_object_get(value, "command");
    const json_t *all = json_object_get(now, "command");
    for (size_t i = 1; json_is_array(command) && i < json_array_size(all); i++)
        json_array_append(command, json_array_get(all, i));
    if (json_object_get(now, "args") != NULL)
        json_object_set(value, "args", json_object_get(now, "args"));
}

/* Members that install does not write, such as a time limit, stay. */
static void update_entry(const struct config_text *text, const struct json_members *members, json_t *value,
                         bool keeps_arguments, struct splice *out)
{
    const struct json_member *entry = &members->members[CONTAINER];
    json_t *now = entry_value(text, members), *then = json_deep_copy(now);
    if (keeps_arguments)
        keep_arguments(now, value);
    json_object_update(then, value);
    if (!json_equal(now, then)) {
        char *dumped = json_dumps(then, JSON_ENCODE_ANY);
        out->at = entry->value;
        out->removed = entry->value_end - entry->value;
        strbuf_adds(&out->text, dumped);
        free(dumped);
    }
    json_decref(now);
    json_decref(then);
}

static bool json_install(const struct config_text *text, const struct config_place *place,
                         const struct server_entry *entry, struct splice *out, struct err *err)
{
    struct json_place where;
    const struct json_members *members = &where.members;
    struct config_found found;
    if (!find_members(text, place, entry->name, &where, err) ||
        !json_find(text, place, entry->name, &found, err))
        return false;
    if (found.presence == PRESENCE_OTHER)
        return config_is_others(entry->name, err);
    json_t *value = make_value(place, where.is_newer, entry);
    if (!members->has_root)
        make_root(text, place, entry->name, value, out);
    else if (!members->members[ROOT].is_there)
        make_container(text, place, members, entry->name, value, out);
    else if (found.presence == PRESENCE_NONE)
        make_entry(text, members, entry->name, value, out);
    else
        update_entry(text, members, value, entry->arguments == NULL, out);
    json_decref(value);
    return true;
}

static bool is_all_blank(const struct config_text *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (strchr(" \t\r\n", text->bytes[i]) == NULL || text->bytes[i] == '\0')
            return false;
    return true;
}

/* Whether the object was created for its only member. It is then removed with it, unless something was
 * added to it. */
static bool is_made(const struct config_text *text, const struct json_object *object,
                    const struct json_member *member)
{
    return object->count == 1 && object->first_key > object->open + 1 &&
           is_all_blank(text, object->open + 1, member->key) &&
           is_all_blank(text, member->end, object->close);
}

/*
 * Remove a member with its comma, and with its line's end and indentation if it has the line for itself. What
 * follows it there must not get into a comment on the line before.
 */
static void cut_member(const struct config_text *text, const struct json_member *member, struct splice *out)
{
    size_t from = member->key;
    const char *newline = memchr(text->bytes + member->end, '\n', text->len - member->end);
    bool is_alone = newline != NULL && is_all_blank(text, member->end, (size_t)(newline - text->bytes));
    char *indent = is_alone ? indent_of(text, from) : NULL;
    if (indent != NULL && from > strlen(indent)) {
        from -= strlen(indent) + 1;
        from -= from > 0 && text->bytes[from - 1] == '\r';
    }
    free(indent);
    out->at = from;
    if (member->end == member->value_end && member->comma_before < member->key) {
        /* The last one: remove the comma before it, too, but keep what is between them. */
        out->at = member->comma_before;
        if (from > member->comma_before + 1)
            strbuf_add(&out->text, text->bytes + member->comma_before + 1, from - member->comma_before - 1);
    }
    out->removed = member->end - out->at;
}

/* Remove everything that make_root() created. */
static void cut_root(const struct config_text *text, const struct json_members *members, struct splice *out)
{
    size_t from = members->root, to = members->objects[ROOT].close + 1;
    const char *bytes = text->bytes;
    if (to < text->len) {
        out->removes_file = from == 0;
        to = text->len;
    } else if (from > 0 && bytes[from - 1] == '\n') {
        from -= from > 1 && bytes[from - 2] == '\r' ? 2 : 1;
    }
    out->at = from;
    out->removed = to - from;
}

static bool json_uninstall(const struct config_text *text, const struct config_place *place, const char *name,
                           struct splice *out, struct err *err)
{
    struct json_place where;
    const struct json_members *members = &where.members;
    struct config_found found;
    if (!find_members(text, place, name, &where, err) || !json_find(text, place, name, &found, err))
        return false;
    if (found.presence == PRESENCE_OTHER)
        return config_is_others(name, err);
    if (found.presence == PRESENCE_NONE)
        return true;
    const struct json_object *root = &members->objects[ROOT];
    bool is_container_made = is_made(text, &members->objects[CONTAINER], &members->members[CONTAINER]);
    bool is_root_made =
        is_made(text, root, &members->members[ROOT]) && is_all_blank(text, root->close + 1, text->len);
    if (!is_container_made)
        cut_member(text, &members->members[CONTAINER], out);
    else if (!is_root_made)
        cut_member(text, &members->members[ROOT], out);
    else
        cut_root(text, members, out);
    return true;
}

const struct config_editor json_editor = {
    .find = json_find,
    .install = json_install,
    .uninstall = json_uninstall,
};
