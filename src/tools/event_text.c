/*
 * Responsible for the members of events. events.c decides which events there are.
 */
#include "tools/event_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/memory.h"
#include "base/redact.h"
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

static void write_string(struct event_text *t, const char *bytes, size_t len)
{
    if (!t->redacts) {
        json_write_string(t->out, bytes, len);
        return;
    }
    struct strbuf shown = {0};
    redact(&shown, bytes, len);
    json_write_string(t->out, strbuf_string(&shown), shown.len);
    strbuf_fini(&shown);
}

static void begin_member(struct event_text *t, const char *name)
{
    strbuf_addf(t->out, ",\"%s\":", name);
}

void event_text_string(struct event_text *t, const char *name, const char *bytes, size_t len)
{
    size_t shown = len > LONGEST_STRING ? utf8_floor(bytes, len, LONGEST_STRING) : len;
    begin_member(t, name);
    write_string(t, bytes, shown);
    if (shown < len)
        strbuf_addf(t->out, ",\"%s-bytes\":%zu", name, len);
}

void event_text_number(struct event_text *t, const char *name, int64_t n)
{
    strbuf_addf(t->out, ",\"%s\":%lld", name, (long long)n);
}

static void add_text(struct event_text *t, const char *name, const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (text != NULL)
        event_text_string(t, name, text, len);
}

void event_text_author(struct event_text *t, const struct author *author)
{
    static const char *const kinds[] = {
        [AUTHOR_AGENT] = "agent", [AUTHOR_PERSON] = "person", [AUTHOR_IMAGE] = "image"};
    strbuf_addf(t->out, ",\"author\":{\"kind\":\"%s\",\"name\":", kinds[author->kind]);
    json_write_string(t->out, author->name, strlen(author->name));
    strbuf_addc(t->out, '}');
}

void event_text_began(struct event_text *t, const struct operation *op)
{
    event_text_author(t, &op->author);
    event_text_string(t, "package", op->package, op->package == NULL ? 0 : strlen(op->package));
    event_text_string(t, "code", op->code.bytes, op->code.len);
    if (op->sequence > 0)
        strbuf_addf(t->out, ",\"in-frame\":{\"error\":%d}", op->sequence);
}

void event_text_values(struct event_text *t, const struct sexp *reply)
{
    const struct sexp *values = reply_get(reply, "values"), *cut = reply_get(reply, "cut");
    size_t left = MOST_VALUES, i, len;
    bool is_cut = false;
    strbuf_adds(t->out, ",\"values\":[");
    for (i = 0; i < sexp_count(values) && i < MOST_ITEMS && left > 0; i++) {
        const char *text = sexp_string(sexp_nth(values, i), &len);
        size_t shown = text == NULL || len <= left ? len : utf8_floor(text, len, left);
        strbuf_adds(t->out, i > 0 ? "," : "");
        write_string(t, text, text == NULL ? 0 : shown);
        is_cut = is_cut || (text != NULL && shown < len) || !sexp_is_nil(sexp_nth(cut, i));
        left -= text == NULL || shown > left ? 0 : shown;
    }
    strbuf_adds(t->out, is_cut || i < sexp_count(values) ? "],\"is-cut\":true" : "]");
}

void event_text_warning(struct event_text *t, const struct sexp *warning)
{
    add_text(t, "type", sexp_nth(warning, 0));
    add_text(t, "message", sexp_nth(warning, 1));
    add_text(t, "place", sexp_nth(warning, 2));
    if (sexp_integer(sexp_nth(warning, 4), 1) > 1)
        event_text_number(t, "times", sexp_integer(sexp_nth(warning, 4), 1));
}

/* As a reply shows them, a line a frame. */
static void add_frames(struct event_text *t, const struct error_record *r)
{
    struct strbuf text = {0};
    report_frames(&text, error_record_frames(r), MOST_FRAMES, MOST_FRAME_BYTES);
    event_text_number(t, "frame-count", abs(error_record_total_frames(r)));
    strbuf_adds(t->out, ",\"frames\":[");
    const char *line = strbuf_string(&text);
    for (size_t i = 0; *line != '\0'; i++) {
        size_t len = strcspn(line, "\n");
        strbuf_adds(t->out, i > 0 ? "," : "");
        write_string(t, line, len);
        line += line[len] == '\n' ? len + 1 : len;
    }
    strbuf_addc(t->out, ']');
    strbuf_fini(&text);
}

static void add_restarts(struct event_text *t, const struct sexp *restarts)
{
    strbuf_adds(t->out, ",\"restarts\":[");
    for (size_t i = 0; i < sexp_count(restarts) && i < MOST_ITEMS; i++) {
        const struct sexp *restart = sexp_nth(restarts, i);
        strbuf_addf(t->out, "%s{\"index\":%zu", i > 0 ? "," : "", i + 1);
        add_text(t, "name", sexp_nth(restart, 0));
        add_text(t, "description", sexp_nth(restart, 1));
        strbuf_addf(t->out, ",\"takes-value\":%s}", sexp_is_nil(sexp_nth(restart, 2)) ? "false" : "true");
    }
    strbuf_addc(t->out, ']');
}

void event_text_error(struct event_text *t, const struct error_record *r)
{
    if (r->sequence > 0)
        event_text_number(t, "error", r->sequence);
    event_text_string(t, "type", r->type, strlen(r->type));
    event_text_string(t, "message", r->message, strlen(r->message));
    if (r->thread != NULL)
        event_text_string(t, "thread", r->thread, strlen(r->thread));
    add_frames(t, r);
    add_restarts(t, r->sequence > 0 ? error_record_restarts(r) : NULL);
}

uint64_t event_text_output(struct event_text *t, const struct capture *c, uint64_t told)
{
    uint64_t end = capture_floor(c, c->total), from = told;
    if (end <= told)
        return told;
    if (end - from > LONGEST_OUTPUT)
        from = capture_floor(c, end - LONGEST_OUTPUT);
    char *bytes = xmalloc(LONGEST_OUTPUT + 8);
    size_t len = (size_t)(end - from), read = 0, n;
    while (read < len && (n = capture_read(c, from + read, bytes + read, len - read)) > 0)
        read += n;
    event_text_string(t, "text", bytes, read);
    if (from > told)
        event_text_number(t, "omitted", (int64_t)(from - told));
    free(bytes);
    return end;
}
