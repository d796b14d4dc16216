/*
 * explain-dispatch: which methods a call would run, in which order, or why none applies. It evaluates the
 * arguments in a copy of the session that is discarded.
 */
#include <string.h>

#include "tools/look_up.h"

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
                   has_around ? "{0}: {role=PRIMARY?primary; its values go to the method around it}"
                              : "{0}: {role=PRIMARY?primary; its values are those of the call}");
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
        reply_fill(out, method, "\n- {0}");
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
            strbuf_addf(out, "\n… %zu more; see find-methods", methods - sexp_count(misfits));
    }
}

const struct tool tool_explain_dispatch = {
    .name = "explain-dispatch",
    .title = "Explain method dispatch",
    .description = "Show which methods a call would run and in which order, or why none applies. The "
                   "arguments are evaluated in a copy of the session; beside threads, in the session.",
    .search_hint = "method call order, CLOS",
    .evaluates_code = true,
    .arguments = {ARGUMENT("form", STRING, "Call to explain, such as (area (make-circle 1)).",
                           .is_required = true, .key = "code"),
                  ARGUMENT("package", STRING, "Package to read the form in."), SESSION_ARGUMENT},
    .effects = "what the argument forms did stays",
    LOOK_UP("explain-dispatch", on_explained),
};
