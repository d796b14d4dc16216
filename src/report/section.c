/*
 * The parts that all reports share.
 */
#include "report/section.h"

#include "base/strbuf.h"
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

void section_add(struct strbuf *out, const struct sexp *value)
{
    size_t len;
    const char *s = sexp_string(value, &len);
    if (s != NULL)
        strbuf_add(out, s, len);
}

void section_add_frame(struct strbuf *out, size_t index, const struct sexp *frame)
{
    strbuf_addf(out, "%zu: ", index);
    section_add(out, sexp_nth(frame, 0));
    if (sexp_string(sexp_nth(frame, 1), NULL) != NULL) {
        strbuf_adds(out, " at ");
        section_add(out, sexp_nth(frame, 1));
    }
}
