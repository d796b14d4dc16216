/*
 * Responsible for the parts that all reports share: the headings, which nothing else may write, and marking
 * what only looks like one.
 */
#include "report/section.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "wire/sexp.h"

#define MARK "| "

#define HEADING_TEXT(name, text) [HEADING_##name] = text,
static const char *const headings[HEADING_COUNT] = {[HEADING_NONE] = "", HEADINGS(HEADING_TEXT)};
#undef HEADING_TEXT

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t c, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* Controls, blanks, characters without a shape, and marks on the character before. */
static bool is_unseen(uint32_t c)
{
    static const struct range ranges[] = {
        {0, 0x20},        {0x7f, 0xa0},     {0xad, 0xad},     {0x300, 0x36f},     {0x61c, 0x61c},
        {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x1ab0, 0x1aff},
        {0x1dc0, 0x1dff}, {0x2000, 0x200f}, {0x202a, 0x202f}, {0x205f, 0x206f},   {0x20d0, 0x20ff},
        {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},
        {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    return is_in(c, ranges, sizeof ranges / sizeof *ranges);
}

static bool is_bracket(uint32_t c)
{
    if (c < 0x80)
        return c == '[' || c == ']';
    static const struct range ranges[] = {
        {0x2045, 0x2046}, {0x2308, 0x230b}, {0x23a1, 0x23a6}, {0x2768, 0x2775}, {0x27e6, 0x27ef},
        {0x2983, 0x2998}, {0x3008, 0x301b}, {0xfe17, 0xfe18}, {0xfe35, 0xfe48}, {0xff3b, 0xff3d},
    };
    return is_in(c, ranges, sizeof ranges / sizeof *ranges);
}

/* The next character of a line that shows; '\n' at its end. */
static uint32_t next_seen(const char *text, size_t len, size_t *at)
{
    while (*at < len) {
        uint32_t c = text_next_character(text, len, at);
        if (text_ends_line(c))
            break;
        if (!is_unseen(c))
            return c;
    }
    return '\n';
}

/* Readers hardly see the case of a letter, a blank, or one letter of another alphabet among others. */
static bool is_alike(uint32_t c, char of_heading)
{
    if (of_heading == '[' || of_heading == ']')
        return is_bracket(c);
    return c == (unsigned char)of_heading ||
           (isalpha((unsigned char)of_heading) && (c >= 0x80 || (c | 0x20) == (of_heading | 0x20u)));
}

static bool looks_like(const char *text, size_t len, const char *heading)
{
    size_t at = 0;
    bool is_foreign =
        isalpha((unsigned char)heading[1]); /* each letter, and not as mathematicians write it */
    for (const char *h = heading; *h != '\0' && (h == heading || h[-1] != ']'); h++) {
        uint32_t c = *h == ' ' ? ' ' : next_seen(text, len, &at);
        if (!is_alike(c, *h))
            return false;
        is_foreign = is_foreign && (c >= 0x80 || !isalpha((int)c)) && c < 0xff00;
    }
    return !is_foreign;
}

static bool looks_like_one(const char *text, size_t len, const char *const *all, size_t count)
{
    size_t at = 0;
    uint32_t first = next_seen(text, len, &at); /* few lines begin as a heading does */
    for (size_t i = 0; i < count; i++)
        if (is_alike(first, all[i][0]) && looks_like(text, len, all[i]))
            return true;
    return false;
}

static void mark(struct strbuf *out, bool is_of_values)
{
    /* What else the server writes at the beginning of a line about values. */
    static const char *const of_values[] = {"=> ", "; No values", "; Earlier values:", "; Timing: "};
    struct strbuf marked = {.limit = out->limit};
    const char *line = out->settled == 0 ? NULL : memrchr(out->bytes, '\n', out->settled);
    size_t copied = 0, at = line == NULL ? 0 : (size_t)(line - out->bytes);
    for (bool begins = true; at < out->len;) {
        if (!begins && out->bytes[at] >= ' ' && out->bytes[at] < 0x7f) { /* most of a text */
            at++;
            continue;
        }
        const char *place = out->bytes + at;
        size_t rest = out->len - at;
        uint32_t c = text_next_character(out->bytes, out->len, &at);
        /* A reader may see what a terminal takes for a sequence: ESC [ERROR]. */
        size_t escape = c == 0x1b ? 1 : c == 0x9b ? 2 : 0;
        bool is_text = place >= out->bytes + out->settled && begins && (escape > 0 || !is_unseen(c));
        if (is_text && (looks_like_one(place + escape, rest - escape, headings + 1, HEADING_COUNT - 1) ||
                        (is_of_values && looks_like_one(place + escape, rest - escape, of_values,
                                                        sizeof of_values / sizeof *of_values)))) {
            strbuf_add(&marked, out->bytes + copied, (size_t)(place - out->bytes) - copied);
            strbuf_adds(&marked, MARK);
            copied = (size_t)(place - out->bytes);
        }
        begins = text_ends_line(c) || text_moves_cursor(c) || (begins && is_unseen(c));
    }
    if (marked.len > 0) {
        strbuf_add(&marked, out->bytes + copied, out->len - copied);
        strbuf_fini(out);
        *out = marked;
    }
    out->settled = out->len;
}

void section_mark(struct strbuf *out)
{
    mark(out, false);
}

void section_add_line(struct strbuf *out, const char *beginning)
{
    mark(out, true);
    strbuf_adds(out, beginning);
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
    for (size_t at = 0; at < len && text[at] != '\0' && !text_ends_line(text_next_character(text, len, &at));)
        line = at;
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
