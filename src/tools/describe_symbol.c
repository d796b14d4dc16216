/*
 * describe-symbol: the meanings of a name, the parts of a class, and the methods of a class or a generic
 * function.
 */
#include <string.h>

#include "calls/look_up.h"

/* hyperspec.txt: each chapter, then its pages and the symbols that they describe. */
extern const char text_hyperspec[];

static void add_hyperspec(struct strbuf *out, const char *name)
{
    const char *line = text_hyperspec, *end = line + strlen(line);
    const char *chapter = line, *page = NULL, *separator = "\nHyperSpec: ";
    size_t name_len = strlen(name);
    for (size_t len; line < end; line += len + 1) {
        const char *found = line;
        len = strcspn(line, "\n");
        if (line[strspn(line, "0123456789")] == ' ')
            chapter = line;
        else
            do
                found =
                    memmem(found + 1, (size_t)(line + len - found) - (found < line + len), name, name_len);
            while (found != NULL && (found[-1] != ' ' || strchr(" \n", found[name_len]) == NULL));
        if (chapter == line || found == NULL)
            continue;
        strbuf_addf(out, "%s%.*s", separator, (int)strcspn(chapter, "\n"), chapter);
        separator = ", ";
        page = line;
    }
    if (page != NULL)
        strbuf_addf(out, ": https://www.lispworks.com/documentation/HyperSpec/Body/%.*s.htm",
                    (int)strcspn(page, " "), page);
}

static void on_text(struct tool_call *call, const struct outcome *o)
{
    const char *standard = sexp_string(reply_get(o->reply, "standard"), NULL);
    reply_fill(&call->text, o->reply, "{text}");
    if (standard != NULL)
        add_hyperspec(&call->text, standard);
    call->is_absent = !reply_flag(o->reply, "found");
}

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
               reply_get(o->reply, "combination") == NULL
                   ? "{total!No methods specialize on {name}.}{total?{#total method} on {name}:}"
                   : "{total!No methods of {name}.}{total?{#total method} of {name} {arguments}, method "
                     "combination {combination}:}");
    reply_fill_each(&call->text, methods, "\n  {0}{slot?, {slot}}{slot!, arguments {1}}" PLACE);
    if (reply_count(o->reply, "total") > 0)
        look_up_add_rest(call, sexp_count(methods), reply_count(o->reply, "total"));
}

static void run(struct tool_call *call, struct session *s)
{
    bool is_class = arguments_is(call, "show", "class"), is_methods = arguments_is(call, "show", "methods");
    call_begin_operation(call, is_class ? "class-info" : is_methods ? "find-methods" : "describe-symbol");
    look_up(call, s, is_class ? on_class : is_methods ? on_methods : on_text);
}

static const char *const shown[] = {"summary", "class", "methods", NULL};

const struct tool tool_describe_symbol = {
    .name = "describe-symbol",
    .title = "Describe a name",
    .description = "Describe what a name means: arguments, value, documentation, source; or a class with "
                   "all slots, or the methods of a class or generic function.",
    .is_read_only = true,
    .arguments = {NAME_ARGUMENT, PACKAGE_ARGUMENT,
                  ARGUMENT("show", STRING, "", .choices = shown, .is_servers = true),
                  ARGUMENT("inherited", BOOLEAN, "Methods on superclasses too.", .needs = "show"),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
