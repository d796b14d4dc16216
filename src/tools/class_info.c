/*
 * class-info and find-methods: the parts of a class, and the methods of a class or a generic function.
 */
#include <string.h>

#include "tools/look_up.h"

/* (NAME SLOT ...): the slot in each class that has one of that name, most specific first. */
static void add_slot(struct strbuf *out, const struct sexp *slot, const char *class)
{
    reply_fill(out, slot, "\n  {0}");
    for (size_t i = 1; i < sexp_count(slot); i++) {
        const struct sexp *in_class = sexp_nth(slot, i);
        const char *origin = sexp_string(sexp_get(in_class, 1, "origin"), NULL);
        bool is_own = origin != NULL && class != NULL && strcmp(origin, class) == 0;
        strbuf_adds(out, "\n    ");
        if (!is_own)
            strbuf_addf(out, "from %s: ", origin == NULL ? "?" : origin);
        struct strbuf options = {0};
        reply_fill(&options, in_class,
                   "{initargs?, initarg {initargs* |{}}}{initform?, initform {initform}}"
                   "{readers?, reader {readers* |{}}}{writers?, writer {writers* |{}}}{type?, type {type}}"
                   "{allocation?, allocation {allocation}}");
        strbuf_adds(out, options.len == 0 ? "no options" : options.bytes + strlen(", "));
        strbuf_fini(&options);
        reply_fill(out, in_class, "{documentation?\n{documentation>      }}");
    }
}

static void on_class(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *r = o->reply, *slots = reply_get(r, "slots");
    struct strbuf *out = &call->text;
    size_t total = reply_count(r, "total");
    reply_fill(out, r, "{name} is a {kind}");
    reply_fill(out, reply_get(r, "place"), PLACE ".");
    reply_fill(out, r,
               "{documentation?\n{documentation>  }}\nMetaclass: {metaclass}"
               "\nDirect superclasses: {supers* |{}}{supers!(none)}"
               "\nDirect subclasses: {subclasses* |{}}{subclasses!(none)}");
    size_t subclasses = reply_count(r, "subclass-count");
    if (subclasses > sexp_count(reply_get(r, "subclasses")))
        strbuf_addf(out, " … %zu in all", subclasses);
    reply_fill(out, r,
               "\nPrecedence list: {precedence* |{}}{precedence!(unknown: a superclass is not defined yet)}"
               "{final!\nThe class is not finalized yet; its first instance finalizes it.}"
               "\nSlots ({total}):");
    for (size_t i = 0; i < sexp_count(slots); i++)
        add_slot(out, sexp_nth(slots, i), sexp_string(reply_get(r, "name"), NULL));
    if (total > 0)
        look_up_add_rest(call, sexp_count(slots), total);
    reply_fill(out, r,
               "{initargs?\nDefault initargs: {initargs*, |{0} {1} ({2})}}"
               "\nMethods that specialize on it: {,methods}");
}

static void on_methods(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *methods = reply_get(o->reply, "methods");
    reply_fill(&call->text, o->reply,
               call_has(call, "class")
                   ? "{total!No methods specialize on {name}.}{total?{#total method} on {name}:}"
                   : "{total!No methods of {name}.}{total?{#total method} of {name} {arguments}, method "
                     "combination {combination}:}");
    reply_fill_each(&call->text, methods, "\n  {0}{slot?, {slot}}{slot!, arguments {1}}" PLACE);
    if (reply_count(o->reply, "total") > 0)
        look_up_add_rest(call, sexp_count(methods), reply_count(o->reply, "total"));
}

static void find_methods(struct tool_call *call)
{
    if (call_has(call, "class") == call_has(call, "generic-function")) {
        call_answer(call, true, "Pass either class or generic-function.");
        return;
    }
    struct session *s = call_begin_tool(call);
    if (s != NULL)
        look_up_run(call, s);
}

const struct tool tool_class_info = {
    .name = "class-info",
    .title = "Describe a class",
    .description = "Describe a class, structure or condition: metaclass, superclasses, subclasses, "
                   "precedence list and slots with all their options.",
    .search_hint = "CLOS class, slots",
    .arguments = {ARGUMENT("class", STRING, "Class name, with or without package prefix.",
                           .is_required = true),
                  PACKAGE_ARGUMENT, LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    LOOK_UP("class-info", on_class),
};

const struct tool tool_find_methods = {
    .name = "find-methods",
    .title = "Find methods",
    .description = "List the methods of a generic function, or those that specialize on a class, with "
                   "qualifiers, specializers and source.",
    .search_hint = "generic function",
    .is_read_only = true,
    .arguments = {ARGUMENT("class", STRING, "Class name; give this or generic-function."),
                  ARGUMENT("generic-function", STRING, "Function name or (setf name).", .key = "function"),
                  PACKAGE_ARGUMENT,
                  ARGUMENT("include-inherited", BOOLEAN, "With class: include methods on its superclasses.",
                           .key = "inherited"),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    .operation = "find-methods",
    .show = on_methods,
    .run = find_methods,
};
