/*
 * quicklisp-search: systems that quickload can load. It runs in a copy of the session, because the search
 * loads Quicklisp.
 */
#include "base/text.h"
#include "tools/look_up.h"

#define FOUND_SHOWN 50
/* The index of a dist is read anew by each copy. */
#define SEARCH_MS 30000

static void add_system(struct strbuf *out, const struct sexp *system)
{
    strbuf_adds(out, "\n- ");
    reply_add_string(out, sexp_nth(system, 0));
    strbuf_adds(out, " (");
    reply_add_string(out, sexp_nth(system, 1));
    strbuf_adds(out, ", ");
    reply_add_string(out, sexp_nth(system, 2));
    strbuf_adds(out, !sexp_is_nil(sexp_nth(system, 4))   ? "; loaded)"
                     : !sexp_is_nil(sexp_nth(system, 3)) ? "; installed)"
                                                         : ")");
}

static void on_found(struct tool_call *call, const struct outcome *o)
{
    if (look_up_failed(call, o))
        return;
    struct strbuf *out = &call->text;
    const struct sexp *systems = reply_get(o->reply, "systems"), *near = reply_get(o->reply, "near");
    size_t total = reply_count(o->reply, "total"), len;
    const char *pattern = call_string(call, "pattern", &len);
    if (total == 0)
        strbuf_adds(out, "Quicklisp has no system");
    else
        text_add_count(out, total, "system");
    strbuf_addf(out, " with \"%.*s\" in the name%c", (int)len, pattern, total == 0 ? '.' : ':');
    for (size_t i = 0; i < sexp_count(near); i++) {
        strbuf_adds(out, i == 0 ? "\nDid you mean " : " or ");
        reply_add_string(out, sexp_nth(near, i));
    }
    if (sexp_count(near) > 0)
        strbuf_addc(out, '?');
    for (size_t i = 0; i < sexp_count(systems); i++)
        add_system(out, sexp_nth(systems, i));
    if (total > sexp_count(systems))
        strbuf_addf(out, "\n... %zu more; use limit", total - sexp_count(systems));
    call_finish(call);
}

static void run(struct tool_call *call)
{
    struct session *s = call_begin(call, "quicklisp-search");
    if (s == NULL)
        return;
    call_write_string(call, "pattern");
    call_write_integer(call, "count", call_integer(call, "limit", FOUND_SHOWN));
    call_enter(call, s, &(struct operation_options){.what = "quicklisp-search", .timeout_ms = SEARCH_MS}, 0,
               false, on_found);
}

const struct tool tool_quicklisp_search = {
    .name = "quicklisp-search",
    .title = "Search Quicklisp",
    .description = "Find Quicklisp systems by part of their name, with release, dist, and whether each is "
                   "installed or loaded.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "pattern",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "Part of the name."},
            {.name = "limit",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = 5000,
             .description = "Maximum results; default: 50."},
            SESSION_ARGUMENT,
        },
    .run = run,
};
