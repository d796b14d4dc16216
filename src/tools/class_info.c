/*
 * class-info and find-methods: the parts of a class, and the methods of a class or a generic function.
 */
#include <string.h>

#include "base/text.h"
#include "tools/look_up.h"

static void add_line(struct strbuf *out, const char *heading, const struct sexp *names)
{
    strbuf_addf(out, "\n%s: ", heading);
    if (sexp_count(names) == 0)
        strbuf_adds(out, "(none)");
    reply_add_list(out, "", names, " ", "");
}

/* "initarg :X, initform 1": the options of a slot in one class. */
static void add_options(struct strbuf *out, const struct sexp *slot)
{
    static const struct {
        const char *key, *label;
        bool is_list;
    } options[] = {
        {"initargs", "initarg ", true}, {"initform", "initform ", false},
        {"readers", "reader ", true},   {"writers", "writer ", true},
        {"type", "type ", false},       {"allocation", "allocation ", false},
    };
    bool is_first = true;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct sexp *value = sexp_get(slot, 1, options[i].key);
        if (sexp_is_nil(value))
            continue;
        strbuf_addf(out, "%s%s", is_first ? "" : ", ", options[i].label);
        if (options[i].is_list)
            reply_add_list(out, "", value, " ", "");
        else
            reply_add_string(out, value);
        is_first = false;
    }
    if (is_first)
        strbuf_adds(out, "no options");
    size_t len;
    const char *documentation = sexp_string(sexp_get(slot, 1, "documentation"), &len);
    if (documentation != NULL) {
        strbuf_addc(out, '\n');
        text_add_indented(out, documentation, len, "      ");
    }
}

/* (NAME SLOT ...): the slot in each class that has one of that name, most specific first. */
static void add_slot(struct strbuf *out, const struct sexp *slot, const char *class, size_t class_len)
{
    reply_fill(out, slot, "\n  {0}");
    for (size_t i = 1; i < sexp_count(slot); i++) {
        size_t len;
        const char *origin = sexp_string(sexp_get(sexp_nth(slot, i), 1, "origin"), &len);
        bool is_own = origin != NULL && class != NULL && len == class_len && memcmp(origin, class, len) == 0;
        strbuf_adds(out, "\n    ");
        if (!is_own)
            strbuf_addf(out, "from %s: ", origin == NULL ? "?" : origin);
        add_options(out, sexp_nth(slot, i));
    }
}

static void on_class(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *r = o->reply;
    struct strbuf *out = &call->text;
    size_t len, documentation_len;
    const char *name = sexp_string(reply_get(r, "name"), &len);
    const char *documentation = sexp_string(reply_get(r, "documentation"), &documentation_len);
    reply_fill(out, r, "{name} is a {kind}");
    look_up_add_place(out, reply_get(r, "place"), 0);
    strbuf_addc(out, '.');
    if (documentation != NULL) {
        strbuf_addc(out, '\n');
        text_add_indented(out, documentation, documentation_len, "  ");
    }
    reply_fill(out, r, "\nMetaclass: {metaclass}");
    add_line(out, "Direct superclasses", reply_get(r, "supers"));
    add_line(out, "Direct subclasses", reply_get(r, "subclasses"));
    size_t subclasses = reply_count(r, "subclass-count");
    if (subclasses > sexp_count(reply_get(r, "subclasses")))
        strbuf_addf(out, " … %zu in all", subclasses);
    if (sexp_count(reply_get(r, "precedence")) == 0)
        strbuf_adds(out, "\nPrecedence list: (unknown: a superclass is not defined yet)");
    else
        add_line(out, "Precedence list", reply_get(r, "precedence"));
    if (!reply_flag(r, "final"))
        strbuf_adds(out, "\nThe class is not finalized yet; its first instance finalizes it.");
    const struct sexp *slots = reply_get(r, "slots");
    size_t total = reply_count(r, "total");
    strbuf_addf(out, "\nSlots (%zu):", total);
    for (size_t i = 0; i < sexp_count(slots); i++)
        add_slot(out, sexp_nth(slots, i), name, len);
    if (total > 0)
        look_up_add_rest(call, sexp_count(slots), total);
    const struct sexp *initargs = reply_get(r, "initargs");
    for (size_t i = 0; i < sexp_count(initargs); i++) {
        const struct sexp *initarg = sexp_nth(initargs, i);
        strbuf_adds(out, i == 0 ? "\nDefault initargs: " : ", ");
        reply_fill(out, initarg, "{0} {1} ({2})");
    }
    strbuf_addf(out, "\nMethods that specialize on it: %s", text_grouped(reply_count(r, "methods")).text);
}

static void on_methods(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *methods = reply_get(o->reply, "methods");
    size_t total = reply_count(o->reply, "total");
    bool is_class = call_has(call, "class");
    if (total == 0) {
        strbuf_addf(&call->text, "No methods %s", is_class ? "specialize on " : "of ");
        reply_fill(&call->text, o->reply, "{name}.");
    } else {
        strbuf_addf(&call->text, "%s%s", text_count(total, "method").text, is_class ? " on " : " of ");
        reply_add(&call->text, o->reply, "name");
        if (!is_class)
            reply_fill(&call->text, o->reply, " {arguments}, method combination {combination}");
        strbuf_addc(&call->text, ':');
    }
    for (size_t i = 0; i < sexp_count(methods); i++) {
        const struct sexp *method = sexp_nth(methods, i);
        reply_fill(&call->text, method, "\n  {0}");
        if (!sexp_is_nil(sexp_get(method, 2, "slot")))
            reply_fill(&call->text, method, ", {slot}");
        else
            reply_fill(&call->text, method, ", arguments {1}");
        look_up_add_place(&call->text, method, 2);
    }
    if (total > 0)
        look_up_add_rest(call, sexp_count(methods), total);
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
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments = {ARGUMENT("class", STRING, "Class name, with or without package prefix.",
                           .is_required = true),
                  PACKAGE_ARGUMENT, LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    .operation = "class-info",
    .show = on_class,
    .run_in = look_up_run,
};

const struct tool tool_find_methods = {
    .name = "find-methods",
    .title = "Find methods",
    .description = "List the methods of a generic function, or those that specialize on a class, with "
                   "qualifiers, specializers and source.",
    .search_hint = "generic function",
    .toolset = TOOLSET_FULL,
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
