/*
 * Responsible for the parts that all reports share.
 */
#include "report/section.h"

#include "base/strbuf.h"
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

void section_add_frame(struct strbuf *out, size_t index, const struct sexp *frame)
{
    strbuf_addf(out, "%zu: ", index);
    reply_add_string(out, sexp_nth(frame, 0));
    if (sexp_string(sexp_nth(frame, 1), NULL) != NULL) {
        strbuf_adds(out, " at ");
        reply_add_string(out, sexp_nth(frame, 1));
    }
}
