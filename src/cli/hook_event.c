/*
 * Responsible for the formats of hooks: tables of events and of the tools that edit files. All input comes
 * from a client and, through it, from a model: sizes are bounded, types are checked, and nothing is written.
 */
#include "cli/hook_event.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"
#include "cli/lisp_check.h"
#include "cli/patch_text.h"

enum { MOST_EDITS = 100, MOST_FILES = 64, MOST_PATH = 4096 };

static const struct {
    const char *name;
    enum hook_dialect dialect;
    bool is_before;
} events[] = {
    {"PreToolUse", HOOK_PRE_TOOL_USE, true},
    {"PostToolUse", HOOK_POST_TOOL_USE, false},
    {"BeforeTool", HOOK_BEFORE_TOOL, true},
    {"AfterTool", HOOK_AFTER_TOOL, false},
};

struct reading {
    const json_t *input; /* tool_input */
    const char *directory;
    bool is_before;
    hook_file *on_file;
    void *arg;
};

static const char *string_of(const json_t *object, const char *key, size_t *len)
{
    const json_t *value = json_object_get(object, key);
    if (len != NULL)
        *len = json_string_length(value);
    return json_string_value(value);
}

/* The path of a Lisp file, made absolute if possible; given. NULL for anything else. */
static char *lisp_path(const struct reading *reading, const char *path, size_t len)
{
    if (path == NULL || len == 0 || len > MOST_PATH || memchr(path, '\0', len) != NULL)
        return NULL;
    struct strbuf whole = {0};
    if (path[0] != '/' && reading->directory != NULL)
        strbuf_addf(&whole, "%s/", reading->directory);
    strbuf_add(&whole, path, len);
    char *given = strbuf_steal(&whole, NULL);
    if (lisp_check_is_lisp(given))
        return given;
    free(given);
    return NULL;
}

/* The text of a file; false if it cannot be read. The caller frees the file. */
static bool read_lisp(struct regular_file *file, const char *path, bool *is_missing)
{
    struct err err = {0};
    bool is_read = regular_file_read(file, path, LISP_CHECK_MOST_BYTES, &err);
    *is_missing = err.code == ERR_NOT_FOUND;
    return is_read;
}

static void after_the_edit(const struct reading *reading, const char *path)
{
    struct regular_file file;
    bool is_missing;
    if (read_lisp(&file, path, &is_missing))
        reading->on_file(reading->arg, path, NULL, &file.text);
    regular_file_fini(&file);
}

/* The whole text is in the event. */
static void before_writing(const struct reading *reading, const char *path, const char *content, size_t len)
{
    struct regular_file file;
    struct strbuf after = {.limit = LISP_CHECK_MOST_BYTES};
    bool is_missing, is_there = read_lisp(&file, path, &is_missing);
    if (strbuf_add(&after, content, len))
        reading->on_file(reading->arg, path, is_there ? &file.text : NULL, &after);
    strbuf_fini(&after);
    regular_file_fini(&file);
}

/* Clients match old texts with plain newlines, however the lines of the file end. */
static bool add_plain_lines(struct strbuf *out, const char *text, size_t len)
{
    bool fits = true;
    for (size_t from = 0, to; fits && from < len; from = to) {
        const char *end = memmem(text + from, len - from, "\r\n", 2);
        to = end == NULL ? len : (size_t)(end - text) + 1;
        fits = strbuf_add(out, text + from, to - from - (end != NULL));
    }
    return fits;
}

/* False if ${old} does not occur exactly once (or at all, if ${is_all}), or the new text is too large. An
 * empty text is replaced as a whole. */
static bool replace_text(struct strbuf *text, const struct strbuf *old, const struct strbuf *new, bool is_all)
{
    if (text->len == 0 && old->len == 0)
        return strbuf_add(text, strbuf_string(new), new->len);
    if (text->len == 0 || old->len == 0)
        return false;
    struct strbuf changed = {.limit = text->limit};
    const char *at = text->bytes, *end = text->bytes + text->len, *found;
    size_t count = 0;
    bool fits = true;
    while (fits && (found = memmem(at, (size_t)(end - at), old->bytes, old->len)) != NULL) {
        fits = strbuf_add(&changed, at, (size_t)(found - at)) &&
               strbuf_add(&changed, strbuf_string(new), new->len);
        at = found + old->len;
        count++;
    }
    if (fits && (count == 1 || (count > 1 && is_all)) && strbuf_add(&changed, at, (size_t)(end - at))) {
        strbuf_fini(text);
        *text = changed;
        return true;
    }
    strbuf_fini(&changed);
    return false;
}

static bool replace(struct strbuf *text, const json_t *edit)
{
    size_t old_len, new_len;
    const char *old = string_of(edit, "old_string", &old_len);
    const char *new = string_of(edit, "new_string", &new_len);
    bool is_all = json_is_true(json_object_get(edit, "replace_all")) ||
                  json_is_true(json_object_get(edit, "allow_multiple"));
    if (old == NULL || new == NULL)
        return false;
    struct strbuf plain_old = {.limit = text->limit}, plain_new = {.limit = text->limit};
    bool is_replaced = add_plain_lines(&plain_old, old, old_len) &&
                       add_plain_lines(&plain_new, new, new_len) &&
                       replace_text(text, &plain_old, &plain_new, is_all);
    strbuf_fini(&plain_old);
    strbuf_fini(&plain_new);
    return is_replaced;
}

static void before_editing(const struct reading *reading, const char *path)
{
    struct regular_file file;
    struct strbuf after = {.limit = LISP_CHECK_MOST_BYTES};
    bool is_missing, is_there = read_lisp(&file, path, &is_missing);
    if (is_missing || (is_there && add_plain_lines(&after, strbuf_string(&file.text), file.text.len))) {
        const json_t *edits = json_object_get(reading->input, "edits");
        size_t count = json_array_size(edits);
        bool is_known = count <= MOST_EDITS && (count > 0 || replace(&after, reading->input));
        for (size_t i = 0; is_known && i < count; i++)
            is_known = replace(&after, json_array_get(edits, i));
        if (is_known)
            reading->on_file(reading->arg, path, is_there ? &file.text : NULL, &after);
    }
    strbuf_fini(&after);
    regular_file_fini(&file);
}

static void read_one_file(const struct reading *reading)
{
    size_t len, content_len;
    const char *name = string_of(reading->input, "file_path", &len);
    char *path = lisp_path(reading, name, len);
    const char *content = string_of(reading->input, "content", &content_len);
    if (path == NULL)
        return;
    if (!reading->is_before)
        after_the_edit(reading, path);
    else if (content != NULL)
        before_writing(reading, path, content, content_len);
    else
        before_editing(reading, path);
    free(path);
}

static void read_patch(const struct reading *reading)
{
    size_t len;
    const char *text = string_of(reading->input, "command", &len);
    if (text == NULL)
        return;
    struct patch_text patch;
    struct patch_file file = {.path = NULL};
    strbuf_init(&file.content, LISP_CHECK_MOST_BYTES);
    patch_text_init(&patch, text, len);
    for (int i = 0; i < MOST_FILES && patch_text_next(&patch, &file); i++) {
        char *path = lisp_path(reading, file.path, file.path_len);
        if (path != NULL && !reading->is_before)
            after_the_edit(reading, path);
        else if (path != NULL && file.is_added && !file.content.is_overflown)
            before_writing(reading, path, strbuf_string(&file.content), file.content.len);
        free(path);
    }
    strbuf_fini(&file.content);
}

/* The tools that change files, as the clients name them. */
static const struct {
    const char *name;
    void (*read)(const struct reading *reading);
} tools[] = {
    {"Write", read_one_file},      {"Edit", read_one_file},    {"MultiEdit", read_one_file},
    {"write_file", read_one_file}, {"replace", read_one_file}, {"apply_patch", read_patch},
};

static bool read_object(const json_t *root, enum hook_dialect *dialect, hook_file *on_file, void *arg,
                        struct err *err)
{
    const char *event = string_of(root, "hook_event_name", NULL);
    const char *tool = string_of(root, "tool_name", NULL);
    if (event == NULL)
        return err_set(err, ERR_SYNTAX, "the input is not a JSON object with hook_event_name");
    struct reading reading = {
        .input = json_object_get(root, "tool_input"),
        .directory = string_of(root, "cwd", NULL),
        .on_file = on_file,
        .arg = arg,
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(event, events[i].name) != 0)
            continue;
        *dialect = events[i].dialect;
        reading.is_before = events[i].is_before;
        for (size_t k = 0; tool != NULL && k < sizeof tools / sizeof *tools; k++)
            if (strcmp(tool, tools[k].name) == 0)
                tools[k].read(&reading);
    }
    return true;
}

bool hook_event_read(const char *input, size_t len, enum hook_dialect *dialect, hook_file *on_file, void *arg,
                     struct err *err)
{
    json_error_t error;
    json_t *root = json_loadb(input, len, JSON_ALLOW_NUL, &error);
    if (root == NULL)
        return err_set(err, ERR_SYNTAX, "a hook gets a JSON object: line %d: %s", error.line, error.text);
    *dialect = HOOK_PRE_TOOL_USE;
    bool is_read = read_object(root, dialect, on_file, arg, err);
    json_decref(root);
    return is_read;
}
