/*
 * Responsible for the parts that all reports share.
 */
#include "report/section.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "wire/sexp.h"

void section_begin(struct strbuf *out, const char *heading)
{
    if (out->len > 0)
        strbuf_adds(out, "\n\n");
    if (heading != NULL)
        strbuf_addf(out, "%s\n", heading);
}

void section_end(struct strbuf *out)
{
    while (out->len > 0 && out->bytes[out->len - 1] == '\n')
        out->bytes[--out->len] = '\0';
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
