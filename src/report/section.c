/*
 * Responsible for the parts that all reports share: the headings, which nothing else may write, and marking
 * what only looks like one.
 */
#include "report/section.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "wire/sexp.h"

#define MARK "| "

#define HEADING_TEXT(name, text) [HEADING_##name] = text,
static const char *const headings[HEADING_COUNT] = {[HEADING_NONE] = "", HEADINGS(HEADING_TEXT)};
#undef HEADING_TEXT

/* What Unicode, a terminal or a language takes for the end of a line. */
static bool ends_line(uint32_t c)
{
    return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Controls, blanks, and characters without a shape. */
static bool is_unseen(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0, 0x20},          {0x7f, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
        {0x115f, 0x1160},   {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x2000, 0x200f},
        {0x202a, 0x202f},   {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164},
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

/* The character that ends before *at, which becomes the place of its first byte. */
static uint32_t character_before(const char *text, size_t *at)
{
    uint32_t c = 0, lead = 0xff;
    int shift = 0;
    while (--*at > 0 && shift < 18 && utf8_continues(text[*at])) {
        c |= ((uint32_t)(unsigned char)text[*at] & 0x3f) << shift;
        shift += 6;
        lead = UINT32_C(0x3f) >> shift / 6;
    }
    return c | ((uint32_t)(unsigned char)text[*at] & lead) << shift;
}

/* Does nothing that shows stand before ${at} in its line? */
static bool begins_line(const char *text, size_t at)
{
    while (at > 0) {
        uint32_t c = character_before(text, &at);
        if (ends_line(c) || !is_unseen(c))
            return ends_line(c);
    }
    return true;
}

static bool is_heading(const char *text, size_t len)
{
    for (size_t i = 0; i < HEADING_COUNT; i++) {
        size_t heading_len = strcspn(headings[i], "]") + 1;
        if (headings[i][0] == '[' && heading_len <= len && memcmp(text, headings[i], heading_len) == 0)
            return true;
    }
    return false;
}

void section_mark(struct strbuf *out)
{
    struct strbuf marked = {.limit = out->limit};
    size_t copied = 0, at = out->settled;
    for (const char *open; at < out->len && (open = memchr(out->bytes + at, '[', out->len - at)) != NULL;) {
        size_t place = (size_t)(open - out->bytes);
        at = place + 1;
        if (!is_heading(open, out->len - place) || !begins_line(out->bytes, place))
            continue;
        strbuf_add(&marked, out->bytes + copied, place - copied);
        strbuf_adds(&marked, MARK);
        copied = place;
    }
    if (marked.len > 0) {
        strbuf_add(&marked, out->bytes + copied, out->len - copied);
        strbuf_fini(out);
        *out = marked;
    }
    out->settled = out->len;
}

void section_add_marked(struct strbuf *out, const struct strbuf *text)
{
    section_mark(out);
    strbuf_add(out, strbuf_string(text), text->len);
    out->settled = out->len;
}

const char *section_heading(enum heading heading)
{
    return headings[heading];
}

void section_begin(struct strbuf *out, enum heading heading)
{
    if (out->len > 0)
        strbuf_adds(out, "\n\n");
    if (heading == HEADING_NONE)
        return;
    section_mark(out);
    strbuf_adds(out, headings[heading]);
    out->settled = out->len;
}

void section_end(struct strbuf *out)
{
    while (out->len > 0 && out->bytes[out->len - 1] == '\n')
        out->bytes[--out->len] = '\0';
    if (out->settled > out->len)
        out->settled = out->len;
}

void section_add_first_line(struct strbuf *out, const char *text, size_t len, size_t most)
{
    size_t line = 0;
    while (line < len && text[line] != '\n' && text[line] != '\0')
        line++;
    size_t shown = utf8_floor(text, line, most);
    strbuf_add(out, text, shown);
    if (shown < len)
        strbuf_adds(out, " ...");
}

void section_add_place(struct strbuf *out, const struct sexp *place)
{
    static const char libraries[] = "/usr/share/common-lisp/source/";
    const char *text = sexp_string(place, NULL);
    if (text != NULL && strncmp(text, libraries, sizeof libraries - 1) == 0)
        strbuf_addf(out, "…/%s", text + sizeof libraries - 1);
    else
        reply_add_string(out, place);
}

void section_add_frame(struct strbuf *out, size_t index, const struct sexp *frame)
{
    strbuf_addf(out, "%zu: ", index);
    reply_add_string(out, sexp_nth(frame, 0));
    if (sexp_string(sexp_nth(frame, 1), NULL) != NULL) {
        strbuf_adds(out, " at ");
        section_add_place(out, sexp_nth(frame, 1));
    }
}

/* The part of its code that the frame is at, and its variables, a line each. */
static void add_locals(struct strbuf *out, const struct sexp *frame)
{
    size_t count = sexp_count(frame);
    for (size_t i = 2; i < count; i++) {
        const struct sexp *name = sexp_nth(sexp_nth(frame, i), 0);
        strbuf_adds(out, "\n     ");
        reply_add_string(out, name);
        strbuf_adds(out, sexp_is_nil(name) ? "in " : " = ");
        reply_add_string(out, sexp_nth(sexp_nth(frame, i), 1));
    }
    if (count <= 2)
        strbuf_adds(out, "\n     (no locals known)");
}

void section_add_stack(struct strbuf *out, const struct sexp *frames, size_t from, size_t end, size_t number,
                       bool locals)
{
    for (size_t i = from; i < end; i++) {
        strbuf_addc(out, '\n');
        section_add_frame(out, number + i - from, sexp_nth(frames, i));
        if (locals)
            add_locals(out, sexp_nth(frames, i));
    }
}
