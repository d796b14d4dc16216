/*
 * What a session has defined.
 */
#include "report/report.h"

#include "base/strbuf.h"
#include "report/section.h"

static const struct {
    const char *key, *heading, *separator;
} kinds[] = {
    {"functions", "[Functions]", " "},
    {"variables", "[Variables]", " = "},
    {"macros", "[Macros]", " "},
    {"classes", "[Classes]", " "},
    {"methods", "[Methods]", " "},
    {"packages", "[Packages]", ""},
    {"systems", "[Loaded Systems]", ""},
};

void report_definitions(struct strbuf *out, const struct sexp *reply)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct sexp *items = sexp_get(reply, 2, kinds[i].key);
        if (sexp_count(items) == 0)
            continue;
        section_begin(out, kinds[i].heading);
        for (size_t k = 0; k < sexp_count(items); k++) {
            const struct sexp *item = sexp_nth(items, k);
            strbuf_adds(out, "- ");
            if (item->type == SEXP_STRING) {
                section_add(out, item);
            } else {
                section_add(out, sexp_nth(item, 0));
                strbuf_adds(out, kinds[i].separator);
                section_add(out, sexp_nth(item, 1));
            }
            strbuf_addc(out, '\n');
        }
        section_end(out);
    }
    if (out->len == 0)
        strbuf_adds(out, "No definitions in this session.");
}
