/*
 * explain-form: the expansion of the macros in a form, which methods a call would run, and the compiler's
 * diagnostics. Macro functions and argument forms are user code, so it runs in a copy of the session that is
 * discarded.
 */
#include <string.h>

#include "calls/look_up.h"
#include "report/report.h"

#define PLACE_AFTER_SEMICOLON "{evaluation?;}{evaluation!{file?;}}" PLACE

/* The meaning of a method's place in the order. */
#define ROLE                                                                                                 \
    "{role=AROUND?around the rest; the rest runs if it calls CALL-NEXT-METHOD}{role=BEFORE?before}"          \
    "{role=NEXT?next method; runs if the one before it calls CALL-NEXT-METHOD}{role=AFTER?after}"            \
    "{role=COMBINED?its value is combined with the others}{role=UNUSED?not used by this method combination}"

static void add_order(struct strbuf *out, const struct sexp *order)
{
    bool has_around = false;
    for (size_t i = 0; i < sexp_count(order); i++) {
        const struct sexp *method = sexp_nth(order, i);
        const char *role = sexp_string(sexp_get(method, 1, "role"), NULL);
        strbuf_addf(out, "\n%zu. ", i + 1);
        reply_fill(out, method,
                   has_around ? "{0/   }: {role=PRIMARY?primary; its values go to the method around it}"
                              : "{0/   }: {role=PRIMARY?primary; its values are those of the call}");
        reply_fill(out, method, ROLE PLACE_AFTER_SEMICOLON);
        has_around = has_around || (role != NULL && strcmp(role, "AROUND") == 0);
    }
}

/* Each method, with the arguments that do not fit it. */
static void add_misfits(struct strbuf *out, const struct sexp *methods, const struct sexp *arguments)
{
    for (size_t i = 0; i < sexp_count(methods); i++) {
        const struct sexp *method = sexp_nth(methods, i);
        const struct sexp *numbers = sexp_get(method, 1, "misfits");
        reply_fill(out, method, "\n- {0/  }");
        for (size_t k = 0; k < sexp_count(numbers); k++) {
            const struct sexp *argument = sexp_nth(arguments, (size_t)sexp_integer(sexp_nth(numbers, k), 0));
            strbuf_adds(out, k == 0 ? ": does not fit " : ", ");
            reply_add_string(out, sexp_nth(argument, 0));
        }
        reply_fill(out, method, sexp_count(numbers) > 0 ? PLACE_AFTER_SEMICOLON : PLACE);
    }
}

static void on_explained(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    const struct sexp *arguments = reply_get(o->reply, "arguments");
    const struct sexp *order = reply_get(o->reply, "order");
    const struct sexp *misfits = reply_get(o->reply, "misfits");
    size_t methods = reply_count(o->reply, "methods");
    if (reply_get(o->reply, "function") != NULL) {
        reply_fill(out, o->reply, "{name} is an ordinary function {function}");
        reply_fill(out, reply_get(o->reply, "place"), PLACE ": every call runs it.");
        return;
    }
    reply_fill(out, o->reply,
               "{name} is a generic function with {#methods method}, called with:"
               "{arguments*|\n  {0} = {2} ({1})}");
    if (sexp_count(order) > 0) {
        reply_fill(out, o->reply,
                   sexp_count(order) == 1
                       ? "\nMethod combination {combination}. One method applies:"
                       : "\nMethod combination {combination}. These methods apply, in this order:");
        add_order(out, order);
        reply_fill(out, o->reply,
                   "{fails?\nThere is no primary method among them, so the call fails and runs none.}"
                   "{form?\nThe method combination calls them with this form:\n{form}}");
    } else if (methods == 0) {
        strbuf_adds(out, "\nIt has no methods: NO-APPLICABLE-METHOD would be called.");
    } else {
        strbuf_adds(out, "\nNo method applies: NO-APPLICABLE-METHOD would be called. Its methods are:");
        add_misfits(out, misfits, arguments);
        if (sexp_count(misfits) < methods)
            strbuf_addf(out, "\n… %zu more; see describe-symbol with show: methods",
                        methods - sexp_count(misfits));
    }
}

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

static void on_compiled(struct tool_call *call, const struct outcome *o)
{
    report_compilation(&call->text, o->reply);
}

/* What is shown of a form, with the agent's operation for it. */
static const struct explanation {
    const char *operation, *depth; /* depth: of an expansion */
    const char *effects;           /* of what could not run in a copy */
    call_outcome *show;
} explanations[] = {
    {"macroexpand", "one", "what the macros did stays", on_expanded},
    {"macroexpand", "top", "what the macros did stays", on_expanded},
    {"macroexpand", "everywhere", "what the macros did stays", on_expanded},
    {"explain-dispatch", NULL, "what the argument forms did stays", on_explained},
    {"compile-form", NULL, "macros, types and constants of the code are defined now", on_compiled},
};

static const char *const shown[] = {"expansion", "full-expansion", "everywhere",
                                    "dispatch",  "compilation",    NULL};

static void run(struct tool_call *call, struct session *s)
{
    size_t which = 0;
    while (arguments_has(call, "show") && !arguments_is(call, "show", shown[which]))
        which++;
    const struct explanation *e = &explanations[which];
    call_begin_operation(call, e->operation);
    if (e->depth != NULL)
        call_write_text(call, "depth", e->depth);
    look_up_in_copy(call, s, arguments_string(call, "form", NULL), arguments_timeout_ms(call), e->effects,
                    e->show);
}

const struct tool tool_explain_form = {
    .name = "explain-form",
    .title = "Explain a form",
    .description = "Expand the macros of a form; or show which methods its call would run (dispatch "
                   "evaluates its arguments), or the compiler's warnings and notes.",
    .is_read_only = true,
    .evaluates_code = true,
    .arguments = {ARGUMENT("form", STRING, "", .is_required = true, .key = "code"),
                  ARGUMENT("show", STRING, "", .choices = shown, .is_servers = true), PACKAGE_ARGUMENT,
                  TIMEOUT_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
