/*
 * Responsible for the report of an evaluation as data. It is bounded like the text; "truncated" names the
 * members of which something is left out.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "lisp/worker.h"
#include "report/reply.h"

/* What the parts of an error may take, each. */
#define MOST_OF_A_PART 4096

/* Counted for each item of a list, so that a list of empty strings ends too. */
#define BYTES_OF_AN_ITEM 16

/* What one member may still take. */
struct room {
    size_t left;
    bool is_cut;
};

static json_t *cut_string(struct room *room, const char *s, size_t len)
{
    size_t shown = utf8_floor(s, len, room->left);
    room->is_cut = room->is_cut || shown < len;
    room->left -= shown;
    return json_stringn_nocheck(s, shown);
}

static json_t *string_of(struct room *room, const struct sexp *value)
{
    size_t len;
    const char *s = sexp_string(value, &len);
    return s == NULL ? json_null() : cut_string(room, s, len);
}

/* Whether there is room for a further item of a list. */
static bool take_item(struct room *room)
{
    if (room->left < BYTES_OF_AN_ITEM) {
        room->is_cut = true;
        return false;
    }
    room->left -= BYTES_OF_AN_ITEM;
    return true;
}

static json_t *text_of(struct room *room, const struct capture *c)
{
    struct strbuf readable = {0}, text = {0};
    uint64_t start, end;
    bool has_gap = capture_gap(c, &start, &end);
    bool is_changed = capture_add_text(c, 0, has_gap ? start : c->total, &readable);
    size_t len = readable.len < room->left ? readable.len : room->left;
    utf8_repair(&text, strbuf_string(&readable), len);
    room->is_cut = has_gap || is_changed || len < readable.len;
    strbuf_fini(&readable);
    json_t *value = json_stringn_nocheck(strbuf_string(&text), text.len);
    strbuf_fini(&text);
    return value;
}

static json_t *strings_of(struct room *room, const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list) && take_item(room); i++)
        json_array_append_new(array, string_of(room, sexp_nth(list, i)));
    return array;
}

static void set_if_known(json_t *object, const char *key, struct room *room, const struct sexp *value)
{
    if (sexp_string(value, NULL) != NULL)
        json_object_set_new(object, key, string_of(room, value));
}

/* ${place} is "file:line:column", as the agent sends it. */
static json_t *warnings_of(struct room *room, const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list) && take_item(room); i++) {
        const struct sexp *warning = sexp_nth(list, i);
        json_t *type = string_of(room, sexp_nth(warning, 0));
        json_t *object =
            json_pack("{s:o, s:o}", "type", type, "message", string_of(room, sexp_nth(warning, 1)));
        set_if_known(object, "place", room, sexp_nth(warning, 2));
        set_if_known(object, "form", room, sexp_nth(warning, 3));
        int64_t times = sexp_integer(sexp_nth(warning, 4), 1);
        if (times > 1)
            json_object_set_new(object, "times", json_integer(times));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *slots_of(struct room *room, const struct sexp *list, size_t from)
{
    json_t *object = json_object();
    for (size_t i = from; i < sexp_count(list) && take_item(room); i++) {
        const char *name = sexp_string(sexp_nth(sexp_nth(list, i), 0), NULL);
        if (name != NULL)
            json_object_set_new_nocheck(object, name, string_of(room, sexp_nth(sexp_nth(list, i), 1)));
    }
    return object;
}

static json_t *restarts_of(struct room *room, const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list) && take_item(room); i++) {
        const struct sexp *r = sexp_nth(list, i);
        json_t *name = string_of(room, sexp_nth(r, 0));
        json_array_append_new(array, json_pack("{s:i, s:o, s:o, s:b}", "index", (int)i + 1, "name", name,
                                               "description", string_of(room, sexp_nth(r, 1)), "takesValue",
                                               !sexp_is_nil(sexp_nth(r, 2))));
    }
    return array;
}

static json_t *frames_of(struct room *room, const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list) && take_item(room); i++) {
        const struct sexp *f = sexp_nth(list, i);
        json_t *call = string_of(room, sexp_nth(f, 0)), *source = string_of(room, sexp_nth(f, 1));
        json_array_append_new(array, json_pack("{s:i, s:o, s:o, s:o}", "index", (int)i, "call", call,
                                               "source", source, "locals", slots_of(room, f, 2)));
    }
    return array;
}

/* Add the member ${key} and, if something of it is left out, its name to ${truncated}. */
static void add(json_t *object, const char *key, json_t *value, const struct room *room, json_t *truncated)
{
    json_object_set_new(object, key, value);
    if (room->is_cut)
        json_array_append_new(truncated, json_string(key));
}

static json_t *error_of(const struct error_record *r, json_t *truncated)
{
    json_t *error =
        json_pack("{s:s, s:i, s:o*}", "type", r->type, "totalFrames", abs(error_record_total_frames(r)),
                  "number", r->sequence > 0 ? json_integer(r->sequence) : NULL);
    struct room rooms[5];
    for (size_t i = 0; i < 5; i++)
        rooms[i] = (struct room){.left = MOST_OF_A_PART};
    add(error, "classes", strings_of(&rooms[0], reply_get(r->condition, "classes")), &rooms[0], truncated);
    add(error, "message", cut_string(&rooms[1], r->message, strlen(r->message)), &rooms[1], truncated);
    add(error, "slots", slots_of(&rooms[2], reply_get(r->condition, "slots"), 0), &rooms[2], truncated);
    rooms[3].is_cut = sexp_integer(reply_get(r->condition, "more-restarts"), 0) > 0;
    add(error, "restarts", restarts_of(&rooms[3], error_record_restarts(r)), &rooms[3], truncated);
    add(error, "frames", frames_of(&rooms[4], error_record_frames(r)), &rooms[4], truncated);
    return error;
}

json_t *report_structured(const struct outcome *o, size_t max_output)
{
    const struct sexp *reply = o->kind == OUTCOME_ERROR ? o->error->condition : o->reply;
    json_t *out = json_pack("{s:s, s:{s:s, s:i}}", "package", session_package(o->session), "session", "name",
                            session_name(o->session), "pid", (int)session_pid(o->session));
    if (out == NULL)
        return NULL;
    struct room rooms[4];
    for (size_t i = 0; i < 4; i++)
        rooms[i] = (struct room){.left = max_output};
    json_t *truncated = json_array();
    add(out, "values", strings_of(&rooms[0], reply_get(reply, "values")), &rooms[0], truncated);
    add(out, "stdout", text_of(&rooms[1], o->output[WORKER_STDOUT]), &rooms[1], truncated);
    add(out, "stderr", text_of(&rooms[2], o->output[WORKER_STDERR]), &rooms[2], truncated);
    add(out, "warnings", warnings_of(&rooms[3], reply_get(reply, "warnings")), &rooms[3], truncated);
    if (o->kind == OUTCOME_ERROR)
        json_object_set_new(out, "error", error_of(o->error, truncated));
    const struct sexp *timing = reply_get(reply, "timing");
    static const char *const names[] = {"realMicroseconds", "runMicroseconds", "gcMicroseconds",
                                        "bytesConsed"};
    if (sexp_count(timing) >= 4) {
        json_t *object = json_object();
        for (size_t i = 0; i < 4; i++)
            json_object_set_new(object, names[i], json_integer(sexp_integer(sexp_nth(timing, i), 0)));
        json_object_set_new(out, "timing", object);
    }
    if (json_array_size(truncated) > 0)
        json_object_set(out, "truncated", truncated);
    json_decref(truncated);
    return out;
}
