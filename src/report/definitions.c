/*
 * Responsible for the text of list-definitions.
 */
#include "report/report.h"

#include <string.h>

#include "base/strbuf.h"
#include "report/reply.h"
#include "report/section.h"

static const struct {
    const char *key;
    enum heading heading;
    const char *separator;
} kinds[] = {
    {"functions", HEADING_FUNCTIONS, " "},
    {"variables", HEADING_VARIABLES, " = "},
    {"macros", HEADING_MACROS, " "},
    {"compiler-macros", HEADING_COMPILER_MACROS, " "},
    {"setf-expanders", HEADING_SETF_EXPANDERS, ""},
    {"types", HEADING_TYPES, " "},
    {"classes", HEADING_CLASSES, " "},
    {"methods", HEADING_METHODS, " "},
    {"tools", HEADING_USER_TOOLS, ""},
    {"packages", HEADING_PACKAGES, ""},
};

#define SYSTEMS_SHOWN 20 /* beside other kinds: a library loads many */

/* How much of the list named ${key} was omitted, and how to see it. */
static void add_left_out(struct strbuf *out, const struct sexp *left_out, const char *key)
{
    for (size_t i = 0; i < sexp_count(left_out); i++) {
        const struct sexp *item = sexp_nth(left_out, i);
        const char *name = sexp_string(sexp_nth(item, 0), NULL);
        if (name != NULL && strcmp(name, key) == 0)
            reply_fill(out, item, "… {,1} more; from: {2} shows them\n");
    }
}

/* In one line. */
static void add_systems(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *systems = reply_get(reply, "systems");
    bool is_alone = reply_get(reply, "functions") == NULL;
    size_t count = sexp_count(systems), shown = is_alone || count < SYSTEMS_SHOWN ? count : SYSTEMS_SHOWN;
    if (count == 0)
        return;
    section_begin(out, HEADING_LOADED_SYSTEMS);
    for (size_t i = 0; i < shown; i++)
        reply_fill(out, sexp_nth(systems, i), i == 0 ? "{/  }" : ", {/  }");
    if (shown < count)
        strbuf_adds(out, ", …; type: systems shows all");
    strbuf_addc(out, '\n');
    if (is_alone)
        add_left_out(out, reply_get(reply, "left-out"), "systems");
    section_end(out);
}

bool report_definitions(struct strbuf *out, const struct sexp *reply)
{
    reply_fill(out, reply, "{program?{program}}");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct sexp *items = reply_get(reply, kinds[i].key);
        if (sexp_count(items) == 0)
            continue;
        section_begin(out, kinds[i].heading);
        for (size_t k = 0; k < sexp_count(items); k++) {
            const struct sexp *item = sexp_nth(items, k);
            reply_fill(out, item, item->type == SEXP_STRING ? "- {/  }" : "- {0/  }");
            strbuf_adds(out, item->type == SEXP_STRING ? "" : kinds[i].separator);
            reply_fill(out, item, "{1/  }\n");
        }
        add_left_out(out, reply_get(reply, "left-out"), kinds[i].key);
        section_end(out);
    }
    add_systems(out, reply);
    return out->len > 0;
}
