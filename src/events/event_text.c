/*
 * Responsible for the members of events. events.c decides which events there are.
 */
#include "events/event_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "report/report.h"
#include "session/records/author.h"
#include "session/records/operation.h"

#define LONGEST_STRING ((size_t)64 << 10)
#define LONGEST_OUTPUT ((size_t)16 << 10)
#define MOST_ITEMS 100
#define MOST_VALUES ((size_t)64 << 10) /* bytes of all values together */
#define MOST_FRAMES 20
#define MOST_FRAME_BYTES 6000

/* Bytes that are not UTF-8 become U+FFFD. */
static json_t *string_of(const char *bytes, size_t len)
{
    struct strbuf text = {0};
    utf8_repair(&text, bytes, len);
    json_t *string = json_stringn_nocheck(strbuf_string(&text), text.len);
    strbuf_fini(&text);
    return string;
}

static void set_integer(json_t *event, const char *name, int64_t n)
{
    json_object_set_new(event, name, json_integer(n));
}

void event_text_string(json_t *event, const char *name, const char *bytes, size_t len)
{
    size_t shown = utf8_floor(bytes, len, LONGEST_STRING);
    json_object_set_new(event, name, string_of(bytes, shown));
    if (shown == len)
        return;
    char length[32];
    snprintf(length, sizeof length, "%s-bytes", name);
    set_integer(event, length, (int64_t)len);
}

static void set_text(json_t *event, const char *name, const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (text != NULL)
        event_text_string(event, name, text, len);
}

void event_text_author(json_t *event, const struct author *author)
{
    static const char *const kinds[] = {
        [AUTHOR_AGENT] = "agent", [AUTHOR_PERSON] = "person", [AUTHOR_IMAGE] = "image"};
    json_object_set_new(event, "author",
                        json_pack("{s:s, s:s}", "kind", kinds[author->kind], "name", author->name));
}

void event_text_began(json_t *event, const struct operation *op)
{
    event_text_author(event, &op->asked.author);
    event_text_string(event, "package", op->package, op->package == NULL ? 0 : strlen(op->package));
    event_text_string(event, "code", op->code.bytes, op->code.len);
    if (op->sequence > 0)
        json_object_set_new(event, "in-frame", json_pack("{s:i}", "error", op->sequence));
}

void event_text_values(json_t *event, const struct sexp *reply)
{
    const struct sexp *values = reply_get(reply, "values"), *cut = reply_get(reply, "cut");
    json_t *shown = json_array();
    size_t left = MOST_VALUES, i, len;
    bool is_cut = false;
    for (i = 0; i < sexp_count(values) && i < MOST_ITEMS && left > 0; i++) {
        const char *text = sexp_string(sexp_nth(values, i), &len);
        size_t part = utf8_floor(text, len, left);
        json_array_append_new(shown, string_of(text, part));
        is_cut = is_cut || part < len || !sexp_is_nil(sexp_nth(cut, i));
        left -= part;
    }
    json_object_set_new(event, "values", shown);
    if (is_cut || i < sexp_count(values))
        json_object_set_new(event, "is-cut", json_true());
}

void event_text_warning(json_t *event, const struct sexp *warning)
{
    set_text(event, "type", sexp_nth(warning, 0));
    set_text(event, "message", sexp_nth(warning, 1));
    set_text(event, "place", sexp_nth(warning, 2));
    if (sexp_integer(sexp_nth(warning, 4), 1) > 1)
        set_integer(event, "times", sexp_integer(sexp_nth(warning, 4), 1));
}

/* As a reply shows them, a line a frame. */
static void set_frames(json_t *event, const struct error_record *r)
{
    struct strbuf text = {0};
    json_t *frames = json_array();
    report_frames(&text, error_record_frames(r), MOST_FRAMES, MOST_FRAME_BYTES);
    for (const char *line = strbuf_string(&text); *line != '\0';) {
        size_t len = strcspn(line, "\n");
        json_array_append_new(frames, string_of(line, len));
        line += line[len] == '\n' ? len + 1 : len;
    }
    set_integer(event, "frame-count", abs(error_record_total_frames(r)));
    json_object_set_new(event, "frames", frames);
    strbuf_fini(&text);
}

static void set_restarts(json_t *event, const struct sexp *restarts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sexp_count(restarts) && i < MOST_ITEMS; i++) {
        json_t *restart = json_pack("{s:i}", "index", (int)i + 1);
        set_text(restart, "name", sexp_nth(sexp_nth(restarts, i), 0));
        set_text(restart, "description", sexp_nth(sexp_nth(restarts, i), 1));
        json_object_set_new(restart, "takes-value",
                            json_boolean(!sexp_is_nil(sexp_nth(sexp_nth(restarts, i), 2))));
        json_array_append_new(list, restart);
    }
    json_object_set_new(event, "restarts", list);
}

void event_text_error(json_t *event, const struct error_record *r)
{
    if (r->sequence > 0)
        set_integer(event, "error", r->sequence);
    event_text_string(event, "type", r->type, strlen(r->type));
    event_text_string(event, "message", r->message, strlen(r->message));
    if (r->thread != NULL)
        event_text_string(event, "thread", r->thread, strlen(r->thread));
    set_frames(event, r);
    set_restarts(event, r->sequence > 0 ? error_record_restarts(r) : NULL);
}

void event_text_deed(json_t *event, const struct sexp *deed)
{
    struct author author = {.kind = AUTHOR_IMAGE};
    const char *by = sexp_string(sexp_get(deed, 2, "by"), NULL);
    size_t len;
    if (by != NULL) {
        author.kind = AUTHOR_AGENT;
        memcpy(author.name, by, utf8_floor(by, strlen(by), AUTHOR_NAME_SIZE - 1));
    }
    event_text_author(event, &author);
    set_text(event, "did", sexp_get(deed, 2, "did"));
    set_text(event, "thread", sexp_get(deed, 2, "thread"));
    if (sexp_string(sexp_get(deed, 2, "code"), &len) != NULL && len > 0)
        set_text(event, "code", sexp_get(deed, 2, "code"));
}

uint64_t event_text_output(json_t *event, const struct capture *c, uint64_t told)
{
    uint64_t end = capture_floor(c, c->total), from = told;
    if (end - from > LONGEST_OUTPUT)
        from = capture_floor(c, end - LONGEST_OUTPUT);
    char *bytes = xmalloc(LONGEST_OUTPUT + 8);
    size_t len = (size_t)(end - from), read = 0, n;
    while (read < len && (n = capture_read(c, from + read, bytes + read, len - read)) > 0)
        read += n;
    event_text_string(event, "text", bytes, read);
    if (from > told)
        set_integer(event, "omitted", (int64_t)(from - told));
    free(bytes);
    return end;
}
