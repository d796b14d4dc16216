/*
 * Responsible for the formats of hooks, tables of events and of the tools that edit files, and for the
 * verdict on an edit. All input comes from a client and, through it, from a model: sizes are bounded, types
 * are checked, and nothing is written.
 *
 * Nothing is said about an edit whose result cannot be known in advance (its old text is not in the file, or
 * a patch that updates), nor about a file that cannot be read: the client's own tool handles them.
 */
#include "cli/hook_answer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"
#include "base/utf8.h"
#include "cli/lisp_check.h"

enum { MOST_EDITS = 100, MOST_FILES = 64, MOST_PATH = 4096 };

/* Clients cut longer replies. */
enum { MOST_REASON = 9000 };

/* Source: hooks references of Claude Code, Codex and Gemini CLI */
struct event {
    const char *name;
    bool is_before;
    const char *decision; /* what the answer to an objection says; NULL: the form of PreToolUse */
};

static const struct event events[] = {
    {"PreToolUse", true, NULL},
    {"PostToolUse", false, "block"},
    {"BeforeTool", true, "deny"},
    {"AfterTool", false, "deny"},
};

struct edit {
    const struct event *event;
    const json_t *input; /* tool_input */
    const char *directory;
    struct strbuf reason; /* empty: no objection */
};

static const char *string_of(const json_t *object, const char *key, size_t *len)
{
    const json_t *value = json_object_get(object, key);
    *len = json_string_length(value);
    return json_string_value(value);
}

static bool is_in_order(const struct strbuf *text)
{
    struct lisp_check check;
    lisp_check_init(&check, strbuf_string(text), text->len);
    bool is_good = check.is_in_order;
    lisp_check_fini(&check);
    return is_good;
}

/* ${before}: NULL if there is no such file, or it is unknown. */
static void judge(struct edit *edit, const char *path, const struct strbuf *before,
                  const struct strbuf *after)
{
    struct lisp_check check;
    const char *text = strbuf_string(after);
    if (!lisp_check_looks_like_lisp(path, text, after->len))
        return;
    lisp_check_init(&check, text, after->len);
    if (!check.is_in_order && (before == NULL || is_in_order(before))) {
        strbuf_addf(&edit->reason,
                    edit->event->is_before
                        ? "%s%s was not written: with this edit its parentheses would be wrong.\n"
                        : "%s%s was changed, and its parentheses are now wrong. Correct the file.\n",
                    edit->reason.len > 0 ? "\n\n" : "", path);
        strbuf_addf(&edit->reason, "Line %zu, column %zu: %s", check.place.line, check.place.column,
                    strbuf_string(&check.explanation));
    }
    lisp_check_fini(&check);
}

/* The path of a Lisp file, made absolute if possible; given. NULL for anything else. */
static char *lisp_path(struct edit *edit, const char *path, size_t len)
{
    if (path == NULL || len == 0 || len > MOST_PATH || memchr(path, '\0', len) != NULL)
        return NULL;
    struct strbuf whole = {0};
    if (path[0] != '/' && edit->directory != NULL)
        strbuf_addf(&whole, "%s/", edit->directory);
    strbuf_add(&whole, path, len);
    char *given = strbuf_steal(&whole, NULL);
    if (lisp_check_is_lisp(given))
        return given;
    free(given);
    return NULL;
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

static bool replace(struct strbuf *text, const json_t *change)
{
    size_t old_len, new_len;
    const char *old = string_of(change, "old_string", &old_len);
    const char *new = string_of(change, "new_string", &new_len);
    bool is_all = json_is_true(json_object_get(change, "replace_all")) ||
                  json_is_true(json_object_get(change, "allow_multiple"));
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

/* The file as it will be after all edits; false if that is not known. ${before}: NULL if there is no file. */
static bool make_edits(const struct edit *edit, const struct strbuf *before, struct strbuf *after)
{
    const json_t *edits = json_object_get(edit->input, "edits");
    size_t count = json_array_size(edits);
    bool is_known = (before == NULL || add_plain_lines(after, strbuf_string(before), before->len)) &&
                    count <= MOST_EDITS && (count > 0 || replace(after, edit->input));
    for (size_t i = 0; is_known && i < count; i++)
        is_known = replace(after, json_array_get(edits, i));
    return is_known;
}

/* Judges the file as it is after an edit, or as it will be: with the ${content}, or if that is NULL, edited.
 */
static void consider(struct edit *edit, const char *path, const char *content, size_t len)
{
    struct regular_file file;
    struct err err = {0};
    struct strbuf after = {.limit = LISP_CHECK_MOST_BYTES};
    bool is_there = regular_file_read(&file, path, LISP_CHECK_MOST_BYTES, &err);
    const struct strbuf *before = is_there ? &file.text : NULL;
    if (!edit->event->is_before && is_there)
        judge(edit, path, NULL, before);
    else if (edit->event->is_before && content != NULL && strbuf_add(&after, content, len))
        judge(edit, path, before, &after);
    else if (edit->event->is_before && content == NULL && (is_there || err.code == ERR_NOT_FOUND) &&
             make_edits(edit, before, &after))
        judge(edit, path, before, &after);
    strbuf_fini(&after);
    regular_file_fini(&file);
}

static void read_one_file(struct edit *edit)
{
    size_t len, content_len;
    const char *name = string_of(edit->input, "file_path", &len);
    const char *content = string_of(edit->input, "content", &content_len);
    char *path = lisp_path(edit, name, len);
    if (path != NULL)
        consider(edit, path, content, content_len);
    free(path);
}

/* The next line without its end; sets the start of the one after it. */
static const char *take_line(const char **at, const char *end, size_t *len)
{
    const char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
    *at = newline == NULL ? end : newline + 1;
    *len = (size_t)((newline == NULL ? end : newline) - line);
    *len -= *len > 0 && line[*len - 1] == '\r';
    return line;
}

/* The path behind ${header}, without the blanks that follow it; NULL if that is not what the line is. */
static const char *path_in(const char *line, size_t len, const char *header, size_t *path_len)
{
    size_t header_len = strlen(header);
    while (len > 0 && line[len - 1] == ' ')
        len--;
    if (len <= header_len || memcmp(line, header, header_len) != 0)
        return NULL;
    *path_len = len - header_len;
    return line + header_len;
}

/*
 * A file that exists after the patch: added, with its content after `+`, updated, or moved (then its new
 * name). Where a hunk applies is left to the client.
 */
static void read_patch(struct edit *edit)
{
    size_t len, path_len;
    const char *at = string_of(edit->input, "command", &len);
    if (at == NULL)
        return;
    const char *end = at + len;
    for (int files = 0; at < end && files < MOST_FILES;) {
        struct strbuf content = {.limit = LISP_CHECK_MOST_BYTES};
        const char *line = take_line(&at, end, &len), *name = path_in(line, len, "*** Add File: ", &path_len);
        bool is_added = name != NULL;
        while (is_added && at < end && *at == '+') {
            line = take_line(&at, end, &len);
            strbuf_add(&content, line + 1, len > 0 ? len - 1 : 0);
            strbuf_addc(&content, '\n');
        }
        if (!is_added && (name = path_in(line, len, "*** Update File: ", &path_len)) != NULL) {
            const char *ahead = at;
            line = take_line(&ahead, end, &len);
            const char *new_name = path_in(line, len, "*** Move to: ", &path_len);
            at = new_name != NULL ? ahead : at;
            name = new_name != NULL ? new_name : name;
        }
        char *path = name == NULL ? NULL : lisp_path(edit, name, path_len);
        if (path != NULL && (!edit->event->is_before || (is_added && !content.is_overflown)))
            consider(edit, path, strbuf_string(&content), content.len);
        files += name != NULL;
        free(path);
        strbuf_fini(&content);
    }
}

/* The tools that change files, as the clients name them. */
static const struct {
    const char *name;
    void (*read)(struct edit *edit);
} tools[] = {
    {"Write", read_one_file},      {"Edit", read_one_file},    {"MultiEdit", read_one_file},
    {"write_file", read_one_file}, {"replace", read_one_file}, {"apply_patch", read_patch},
};

static void add_refusal(struct strbuf *out, const struct edit *edit)
{
    struct strbuf reason = {.limit = MOST_REASON};
    utf8_repair(&reason, edit->reason.bytes, edit->reason.len);
    json_t *answer =
        edit->event->decision != NULL
            ? json_pack("{ssss}", "decision", edit->event->decision, "reason", strbuf_string(&reason))
            : json_pack("{s{ssssss}}", "hookSpecificOutput", "hookEventName", "PreToolUse",
                        "permissionDecision", "deny", "permissionDecisionReason", strbuf_string(&reason));
    char *text = json_dumps(answer, JSON_COMPACT);
    strbuf_addf(out, "%s\n", text);
    free(text);
    json_decref(answer);
    strbuf_fini(&reason);
}

bool hook_answer(const char *input, size_t len, struct strbuf *out, struct err *err)
{
    json_error_t error;
    json_t *root = json_loadb(input, len, JSON_ALLOW_NUL, &error);
    if (root == NULL)
        return err_set(err, ERR_SYNTAX, "a hook gets a JSON object: line %d: %s", error.line, error.text);
    const char *event = json_string_value(json_object_get(root, "hook_event_name"));
    const char *tool = json_string_value(json_object_get(root, "tool_name"));
    struct edit edit = {.input = json_object_get(root, "tool_input"),
                        .directory = json_string_value(json_object_get(root, "cwd"))};
    for (size_t i = 0; event != NULL && i < sizeof events / sizeof *events; i++)
        if (strcmp(event, events[i].name) == 0)
            edit.event = &events[i];
    for (size_t i = 0; edit.event != NULL && tool != NULL && i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tool, tools[i].name) == 0)
            tools[i].read(&edit);
    if (edit.reason.len > 0)
        add_refusal(out, &edit);
    bool is_event = event != NULL;
    strbuf_fini(&edit.reason);
    json_decref(root);
    return is_event || err_set(err, ERR_SYNTAX, "the input is not a JSON object with hook_event_name");
}
