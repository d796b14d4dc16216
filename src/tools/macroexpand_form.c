/*
 * macroexpand-form: the expansion of the macros in a form. Macro functions are user code, so it runs in a
 * copy that is discarded.
 */
#include "tools/look_up.h"

/* ((TEXT . plist) ...): one expansion for each form. */
static void add_expansion(struct tool_call *call, struct session *s, const struct sexp *expansion)
{
    size_t len;
    const char *text = sexp_string(sexp_nth(expansion, 0), &len);
    look_up_add_text(call, s, text == NULL ? "" : text, len);
    reply_fill(&call->text, expansion,
               "{cut?\n[… printing stopped here …]}{same?{operator?\n; not expanded: {operator}}}");
}

static void on_expanded(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *expansions = reply_get(o->reply, "expansions");
    for (size_t i = 0; i < sexp_count(expansions); i++) {
        if (i > 0)
            strbuf_adds(&call->text, "\n\n");
        add_expansion(call, o->session, sexp_nth(expansions, i));
    }
    if (sexp_count(expansions) == 0)
        strbuf_adds(&call->text, "The text contains no form.");
}

static void run(struct tool_call *call, struct session *s)
{
    const char *form = call_string(call, "form", NULL);
    const char *depth = call_boolean(call, "all") ? "everywhere" : call_boolean(call, "full") ? "top" : "one";
    call_write_text(call, "depth", depth);
    look_up_in_copy(call, s, form, 0, "what the macros did stays", on_expanded);
}

const struct tool tool_macroexpand_form = {
    .name = "macroexpand-form",
    .title = "Expand macros",
    .description = "Expand the macros in a form: one step, fully at the top level, or everywhere.",
    .is_read_only = true,
    .evaluates_code = true,
    .arguments = {ARGUMENT("form", STRING, "Form to expand.", .is_required = true, .key = "code"),
                  ARGUMENT("full", BOOLEAN, "Expand fully at the top level.", .is_servers = true),
                  ARGUMENT("all", BOOLEAN, "Expand subforms too.", .is_servers = true),
                  ARGUMENT("package", STRING, "Package to read the form in.", .is_rare = true),
                  SESSION_ARGUMENT},
    .operation = "macroexpand",
    .run_in = run,
};
