/*
 * Responsible for the report of an evaluation as data: complete, or absent.
 */
#include "report/report.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "lisp/worker.h"
#include "report/reply.h"

static json_t *string_of(const struct sexp *value)
{
    size_t len;
    const char *s = sexp_string(value, &len);
    return s == NULL ? json_null() : json_stringn_nocheck(s, len);
}

static json_t *text_of(const struct capture *c)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    size_t len = (size_t)(c->total < CAPTURE_HEAD + CAPTURE_TAIL ? c->total : CAPTURE_HEAD + CAPTURE_TAIL);
    char *bytes = xmalloc(len + 1);
    utf8_repair(&text, bytes, capture_read(c, 0, bytes, len));
    free(bytes);
    json_t *value = json_stringn_nocheck(strbuf_string(&text), text.len);
    strbuf_fini(&text);
    return value;
}

static json_t *strings_of(const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list); i++)
        json_array_append_new(array, string_of(sexp_nth(list, i)));
    return array;
}

/* ${place} is "file:line:column", as the agent sends it. */
static json_t *warnings_of(const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list); i++) {
        const struct sexp *warning = sexp_nth(list, i);
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o}", "type", string_of(sexp_nth(warning, 0)), "message",
                             string_of(sexp_nth(warning, 1)), "place", string_of(sexp_nth(warning, 2)),
                             "form", string_of(sexp_nth(warning, 3))));
    }
    return array;
}

static json_t *slots_of(const struct sexp *list, size_t from)
{
    json_t *object = json_object();
    for (size_t i = from; i < sexp_count(list); i++) {
        const char *name = sexp_string(sexp_nth(sexp_nth(list, i), 0), NULL);
        if (name != NULL)
            json_object_set_new_nocheck(object, name, string_of(sexp_nth(sexp_nth(list, i), 1)));
    }
    return object;
}

static json_t *restarts_of(const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list); i++) {
        const struct sexp *r = sexp_nth(list, i);
        json_array_append_new(array,
                              json_pack("{s:i, s:o, s:o, s:b}", "index", (int)i + 1, "name",
                                        string_of(sexp_nth(r, 0)), "description", string_of(sexp_nth(r, 1)),
                                        "takesValue", !sexp_is_nil(sexp_nth(r, 2))));
    }
    return array;
}

static json_t *frames_of(const struct sexp *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list); i++) {
        const struct sexp *f = sexp_nth(list, i);
        json_array_append_new(array, json_pack("{s:i, s:o, s:o, s:o}", "index", (int)i, "call",
                                               string_of(sexp_nth(f, 0)), "source", string_of(sexp_nth(f, 1)),
                                               "locals", slots_of(f, 2)));
    }
    return array;
}

static json_t *error_of(const struct error_record *r)
{
    return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:i}", "type", r->type, "classes",
                     strings_of(reply_get(r->condition, "classes")), "message", r->message, "slots",
                     slots_of(reply_get(r->condition, "slots"), 0), "restarts",
                     restarts_of(r->sequence > 0 ? reply_get(r->condition, "restarts") : NULL), "frames",
                     frames_of(error_record_frames(r)), "totalFrames", abs(error_record_total_frames(r)));
}

json_t *report_structured(const struct outcome *o)
{
    const struct sexp *reply = o->kind == OUTCOME_ERROR ? o->error->condition : o->reply;
    json_t *out = json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:{s:s, s:i}}", "values", strings_of(reply_get(reply, "values")), "stdout",
        text_of(o->output[WORKER_STDOUT]), "stderr", text_of(o->output[WORKER_STDERR]), "warnings",
        warnings_of(reply_get(reply, "warnings")), "package", session_package(o->session), "session", "name",
        session_name(o->session), "pid", (int)session_pid(o->session));
    if (out == NULL)
        return NULL;
    if (o->kind == OUTCOME_ERROR)
        json_object_set_new(out, "error", error_of(o->error));
    const struct sexp *timing = reply_get(reply, "timing");
    static const char *const names[] = {"realMicroseconds", "runMicroseconds", "gcMicroseconds",
                                        "bytesConsed"};
    if (sexp_count(timing) >= 4) {
        json_t *object = json_object();
        for (size_t i = 0; i < 4; i++)
            json_object_set_new(object, names[i], json_integer(sexp_integer(sexp_nth(timing, i), 0)));
        json_object_set_new(out, "timing", object);
    }
    return out;
}
