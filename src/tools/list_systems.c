/*
 * list-systems: the systems that load-system finds on this machine, or those that Quicklisp has. It runs in a
 * copy of the session, because looking loads ASDF's definitions or Quicklisp.
 */
#include "base/text.h"
#include "calls/look_up.h"
#include "report/section.h"
#include "tools/describe_systems.h"

#define LOCAL_SHOWN 200 /* by default */
#define QUICKLISP_SHOWN 50
/* Each copy reads the index of a dist anew. */
#define QUICKLISP_MS 30000

/* `12 systems with "NAME" in the name:`, or ${none} instead of the count. */
static void add_count(struct tool_call *call, size_t total, const char *none)
{
    size_t len;
    const char *pattern = arguments_string(call, "pattern", &len);
    if (total == 0)
        strbuf_adds(&call->text, none);
    else
        strbuf_adds(&call->text, text_count(total, "system").text);
    if (pattern != NULL)
        strbuf_addf(&call->text, " with \"%.*s\" in the name", (int)len, pattern);
    strbuf_addc(&call->text, total == 0 ? '.' : ':');
}

static void add_rest(struct tool_call *call, size_t total, size_t shown)
{
    if (total > shown)
        strbuf_addf(&call->text, "\n... %zu more; use pattern or limit", total - shown);
}

static void on_local_systems(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    const struct sexp *systems = reply_get(o->reply, "systems");
    size_t total = reply_count(o->reply, "total");
    add_count(call, total, "No system");
    for (size_t i = 0; i < sexp_count(systems); i++) {
        const struct sexp *system = sexp_nth(systems, i);
        reply_fill(out, system, "\n- {0}{3? (loaded)}{1?: }");
        section_add_place(out, sexp_nth(system, 1));
    }
    add_rest(call, total, sexp_count(systems));
}

static void on_quicklisp_systems(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    const struct sexp *systems = reply_get(o->reply, "systems");
    size_t total = reply_count(o->reply, "total");
    add_count(call, total, "Quicklisp has no system");
    reply_fill(out, o->reply,
               "{near?\nDid you mean {near* or |{}}?}"
               "{systems*|\n- {0} ({1}, {2}{4?; loaded}{4!{3?; installed}})}");
    add_rest(call, total, sexp_count(systems));
}

static void run(struct tool_call *call, struct session *s)
{
    if (arguments_has(call, "system")) {
        describe_systems_show(call, s);
        return;
    }
    bool is_quicklisp = arguments_boolean(call, "quicklisp");
    call_begin_request(call, is_quicklisp ? "quicklisp-search" : "list-systems");
    call_write_string(call, "pattern");
    call_write_integer(call, "count",
                       arguments_integer(call, "limit", is_quicklisp ? QUICKLISP_SHOWN : LOCAL_SHOWN));
    if (is_quicklisp)
        look_up_in_copy(call, s, "list-systems", QUICKLISP_MS, "Quicklisp is loaded now",
                        on_quicklisp_systems);
    else
        look_up_in_copy(call, s, "list-systems", LOOK_UP_MS, NULL, on_local_systems);
}

const struct tool tool_list_systems = {
    .name = "list-systems",
    .title = "List systems",
    .description = "List the ASDF systems that can be loaded; or describe one without loading it: version, "
                   "files, tests, dependencies.",
    .is_read_only = true,
    .is_open_world = true,
    .arguments = {ARGUMENT("pattern", STRING, "", .excludes = "system"), ARGUMENT("quicklisp", BOOLEAN, ""),
                  ARGUMENT("limit", INTEGER, "", .minimum = 1, .maximum = 5000),
                  ARGUMENT("system", STRING, "Describe this one.", .excludes = "quicklisp"),
                  ARGUMENT("transitive", BOOLEAN, "", .needs = "system"), SESSION_ARGUMENT},
    .run_in = run,
};
