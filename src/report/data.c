/*
 * Responsible for replies as data, for the page of the window: what the texts are made from, without words
 * for agents.
 */
#include <string.h>

#include "base/strbuf.h"
#include "report/report.h"
#include "report/section.h"
#include "wire/sexp.h"

static json_t *value_of(const struct sexp *value);

json_t *report_data(const struct sexp *list, size_t from)
{
    json_t *object = json_object();
    for (size_t i = from; i + 1 < sexp_count(list); i += 2) {
        const struct sexp *key = sexp_nth(list, i);
        if (key->type == SEXP_SYMBOL)
            json_object_set_new_nocheck(object, key->text.bytes, value_of(sexp_nth(list, i + 1)));
    }
    return object;
}

/* A list that begins with a keyword is a property list. The parser bounds the depth. */
static json_t *list_of(const struct sexp *list)
{
    const struct sexp *first = sexp_nth(list, 0);
    if (first->type == SEXP_SYMBOL && !sexp_is_nil(first) && !sexp_is_symbol(first, "t"))
        return report_data(list, 0);
    json_t *array = json_array();
    for (size_t i = 0; i < sexp_count(list); i++)
        json_array_append_new(array, value_of(sexp_nth(list, i)));
    return array;
}

static json_t *value_of(const struct sexp *value)
{
    if (sexp_is_nil(value))
        return json_null();
    switch (value->type) {
    case SEXP_INTEGER:
        return json_integer(value->integer);
    case SEXP_FLOAT:
        return json_real(value->number);
    case SEXP_STRING:
        return json_stringn_nocheck(value->text.bytes, value->text.len);
    case SEXP_SYMBOL:
        return sexp_is_symbol(value, "t") ? json_true() : json_string_nocheck(value->text.bytes);
    case SEXP_LIST:
        break;
    }
    return list_of(value);
}

/* The part of its code that a frame is at, with the marks around the form: what is before it, the form, what
 * follows. Without marks, the code alone. */
static json_t *source_of(const char *text, size_t len)
{
    const char *start = memmem(text, len, ">>>", 3), *end = NULL;
    for (const char *at = start; at != NULL; at = memmem(at + 3, len - (size_t)(at + 3 - text), "<<<", 3))
        end = at == start ? NULL : at;
    if (end == NULL)
        return json_pack("[o]", json_stringn_nocheck(text, len));
    return json_pack("[o, o, o]", json_stringn_nocheck(text, (size_t)(start - text)),
                     json_stringn_nocheck(start + 3, (size_t)(end - start - 3)),
                     json_stringn_nocheck(end + 3, len - (size_t)(end + 3 - text)));
}

static json_t *frame_of(const struct sexp *frame, size_t number)
{
    struct strbuf place = {0};
    json_t *data = json_pack("{s:i, s:o}", "number", (int)number, "call", value_of(sexp_nth(frame, 0)));
    json_t *locals = json_array();
    section_add_place(&place, sexp_nth(frame, 1));
    json_object_set_new(data, "place", json_stringn_nocheck(strbuf_string(&place), place.len));
    for (size_t i = 2; i < sexp_count(frame); i++) {
        const struct sexp *local = sexp_nth(frame, i);
        size_t len;
        const char *text = sexp_string(sexp_nth(local, 1), &len);
        if (!sexp_is_nil(sexp_nth(local, 0)))
            json_array_append_new(locals, json_pack("{s:o, s:o}", "name", value_of(sexp_nth(local, 0)),
                                                    "value", value_of(sexp_nth(local, 1))));
        else if (text != NULL)
            json_object_set_new(data, "source", source_of(text, len));
    }
    json_object_set_new(data, "locals", locals);
    strbuf_fini(&place);
    return data;
}

json_t *report_data_frames(const struct sexp *frames, size_t from, size_t end, size_t number)
{
    json_t *list = json_array();
    for (size_t i = from; i < end; i++)
        json_array_append_new(list, frame_of(sexp_nth(frames, i), number + i - from));
    return json_pack("{s:o}", "frames", list);
}
