/*
 * Responsible for the text of explain-form's compilation: the compiler's diagnostics.
 */
#include "report/report.h"

#include <string.h>

#include "base/strbuf.h"
#include "report/reply.h"
#include "report/section.h"
#include "report/warnings.h"

static const struct {
    const char *kind;
    enum heading heading;
} kinds[] = {
    {"ERROR", HEADING_ERRORS},
    {"WARNING", HEADING_COMPILER_WARNINGS},
    {"STYLE-WARNING", HEADING_STYLE_WARNINGS},
    {"NOTE", HEADING_NOTES},
};

/* The diagnostics of one kind, each with the sub-form that it is about. */
static void add_kind(struct strbuf *out, const struct sexp *notes, const char *kind, enum heading heading)
{
    bool is_first = true;
    for (size_t i = 0; i < sexp_count(notes); i++) {
        const struct sexp *note = sexp_nth(notes, i);
        const char *its_kind = sexp_string(sexp_nth(note, 0), NULL);
        if (its_kind == NULL || strcmp(its_kind, kind) != 0)
            continue;
        if (is_first)
            section_begin(out, heading);
        is_first = false;
        strbuf_adds(out, "- ");
        warnings_add_place(out, sexp_nth(note, 3));
        reply_fill(out, note, "{1}{2?\n  in {2}}\n");
    }
    if (!is_first)
        section_end(out);
}

void report_compilation(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *notes = reply_get(reply, "notes");
    reply_fill(out, reply, "{failed?Compilation FAILED.}{failed!Compilation successful.}");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        add_kind(out, notes, kinds[i].kind, kinds[i].heading);
    reply_fill(out, reply, "{notes-lost?\n[{,notes-lost} more messages of the compiler were not kept.]\n}");
}
