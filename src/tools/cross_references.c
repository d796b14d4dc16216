/*
 * who-calls and its relatives, and list-callees: the references to a name, and those that a function makes.
 */
#include <string.h>

#include "base/text.h"
#include "tools/look_up.h"

/* One row for each tool that lists references to a name. */
static const struct relation {
    const char *kind;     /* the tool's name after who-; of the agent's operation find-references */
    const char *who, *of; /* the noun for one of those found, and the text between it and the name */
    const char *none;     /* when nothing is found */
    const char *recorded; /* the part that the Lisp records; NULL: everything */
    const char *more;     /* what it does not record */
} relations[] = {
    /* clang-format off */
    {"calls", "caller", "of", "No calls of {name} are recorded.",
     "calls by name, including inlined functions and functions used as values,",
     ", or calls by a name that is computed at run time"},
    {"references", "reader", "of", "No readers of {name} are recorded.",
     "reads of special and global variables and constants",
     ". The compiler may replace a constant by its value if that is a number or a character"},
    {"binds", "binder", "of", "No binders of {name} are recorded.", "bindings of special variables", ""},
    {"sets", "setter", "of", "No setters of {name} are recorded.",
     "assignments of special and global variables", ""},
    {"macroexpands", "user", "of the macro", "No users of the macro {name} are recorded.",
     "uses", ", or uses of top-level defining macros such as DEFUN"},
    {"specializes", "method", "on", "No method specializes on {name} or on one of its objects.", NULL, NULL},
    /* clang-format on */
};

static const struct relation *relation_of(const struct tool_call *call)
{
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++)
        if (strcmp(relations[i].kind, call->tool->name + strlen("who-")) == 0)
            return &relations[i];
    return &relations[0];
}

static bool has_meaning(const struct sexp *reply, const char *word)
{
    const struct sexp *meanings = reply_get(reply, "meanings");
    for (size_t i = 0; i < sexp_count(meanings); i++)
        if (sexp_is_symbol(sexp_nth(meanings, i), word))
            return true;
    return false;
}

static bool is_class(const struct sexp *reply)
{
    return has_meaning(reply, "class") || has_meaning(reply, "structure") || has_meaning(reply, "condition");
}

/* Why the question does not fit the name; NULL if it does. */
static const char *mismatch(const struct relation *r, const struct sexp *reply)
{
    bool is_macro = has_meaning(reply, "macro");
    if (strcmp(r->kind, "calls") == 0)
        return is_macro ? "It is a macro; use who-macroexpands."
               : has_meaning(reply, "special-operator")
                   ? "It is a special operator; uses of those are not recorded."
                   : NULL;
    if (strcmp(r->kind, "macroexpands") == 0)
        return is_macro ? NULL : "It is not a macro.";
    if (strcmp(r->kind, "specializes") == 0)
        return is_class(reply) ? NULL : "It is not the name of a class.";
    return has_meaning(reply, "variable") || has_meaning(reply, "constant")
               ? NULL
               : "It is not a special variable or a constant; references to local variables are not "
                 "recorded.";
}

static void add_nothing(struct strbuf *out, const struct relation *r, const struct sexp *reply)
{
    const char *why = mismatch(r, reply);
    reply_fill(out, reply, r->none);
    if (why != NULL)
        strbuf_addf(out, "\n%s", why);
    else if (r->recorded != NULL)
        strbuf_addf(out,
                    "\nThe Lisp records %s in functions, methods and macros. It does not record those in "
                    "forms that define nothing, in the Lisp itself or in ASDF%s.",
                    r->recorded, r->more);
    reply_fill(out, reply, "{near?\n{near}}");
}

/* "\n  NAME (2 times)" */
static void add_name(struct strbuf *out, const char *before, const struct sexp *entry)
{
    int64_t times = sexp_integer(sexp_nth(entry, 1), 1);
    strbuf_adds(out, before);
    reply_fill(out, entry, times > 1 ? "{0} ({1} times)" : "{0}");
}

static void on_references(struct tool_call *call, const struct outcome *o)
{
    const struct relation *r = relation_of(call);
    const struct sexp *found = reply_get(o->reply, "references");
    size_t total = reply_count(o->reply, "total");
    size_t count = reply_count(o->reply, "count");
    if (total == 0) {
        add_nothing(&call->text, r, o->reply);
        return;
    }
    strbuf_addf(&call->text, "%s %s ", text_count(total, r->who).text, r->of);
    reply_fill(&call->text, o->reply, "{name}");
    if (count > total)
        strbuf_addf(&call->text, ", at %zu places", count);
    strbuf_addc(&call->text, ':');
    for (size_t i = 0; i < sexp_count(found); i++) {
        add_name(&call->text, "\n  ", sexp_nth(found, i));
        reply_fill(&call->text, sexp_nth(found, i), PLACE);
    }
    look_up_add_rest(call, sexp_count(found), total);
    if (reply_flag(o->reply, "own") && strcmp(r->kind, "specializes") != 0)
        strbuf_adds(&call->text, "\nFunctions of the Lisp itself and of ASDF are left out.");
}

static void who(struct tool_call *call, struct session *s)
{
    call_write_text(call, "kind", relation_of(call)->kind);
    look_up(call, s, call->tool->show);
}

/* "WHEN (2 times), LOOP"; nothing for an empty list. */
static void add_names(struct strbuf *out, const char *heading, const struct sexp *entries)
{
    for (size_t i = 0; i < sexp_count(entries); i++)
        add_name(out, i == 0 ? heading : ", ", sexp_nth(entries, i));
}

static void on_callees(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *calls = reply_get(o->reply, "calls");
    size_t total = reply_count(o->reply, "total");
    const char *kind = sexp_string(reply_get(o->reply, "kind"), NULL);
    reply_fill(&call->text, o->reply, "The {kind}{kind!function} {name}");
    if (kind != NULL && strcmp(kind, "generic function") == 0)
        reply_fill(&call->text, o->reply, " ({#methods method})");
    reply_fill(&call->text, o->reply,
               "{total? calls {#total function}:}{total! calls no function by name, as far as is recorded. "
               "Open-coded calls may be missing.}");
    for (size_t i = 0; i < sexp_count(calls); i++) {
        const struct sexp *entry = sexp_nth(calls, i);
        add_name(&call->text, "\n  ", entry);
        reply_fill(&call->text, entry, "{undefined? [undefined]}" PLACE);
    }
    if (total > 0)
        look_up_add_rest(call, sexp_count(calls), total);
    add_names(&call->text, "\nMacros: ", reply_get(o->reply, "macroexpands"));
    add_names(&call->text, "\nVariables and constants: ", reply_get(o->reply, "references"));
}

#define CROSS_REFERENCE(symbol, its_name, its_title, its_description, its_operation, its_show, its_run)      \
    const struct tool symbol = {                                                                             \
        .name = its_name,                                                                                    \
        .title = its_title,                                                                                  \
        .description = its_description,                                                                      \
        .is_read_only = true,                                                                                \
        .arguments = {NAME_ARGUMENT, PACKAGE_ARGUMENT, LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},     \
        .operation = its_operation,                                                                          \
        .show = its_show,                                                                                    \
        .run_in = its_run,                                                                                   \
    }

CROSS_REFERENCE(tool_who_calls, "who-calls", "Who calls a function",
                "List the functions, methods and macros that call a function, with source locations.",
                "find-references", on_references, who);
CROSS_REFERENCE(tool_who_references, "who-references", "Who reads a variable",
                "List the functions, methods and macros that read a special variable or a constant, with "
                "source locations.",
                "find-references", on_references, who);
CROSS_REFERENCE(tool_who_binds, "who-binds", "Who binds a variable",
                "List the functions, methods and macros that bind a special variable, with source locations.",
                "find-references", on_references, who);
CROSS_REFERENCE(tool_who_sets, "who-sets", "Who sets a variable",
                "List the functions, methods and macros that set a special variable, with source locations.",
                "find-references", on_references, who);
CROSS_REFERENCE(tool_who_macroexpands, "who-macroexpands", "Who uses a macro",
                "List the functions, methods and macros that use a macro, with source locations.",
                "find-references", on_references, who);
CROSS_REFERENCE(
    tool_who_specializes, "who-specializes", "Who specializes on a class",
    "List the methods that specialize on a class or on one of its objects, with source locations.",
    "find-references", on_references, who);
CROSS_REFERENCE(tool_list_callees, "list-callees", "What a function calls",
                "List the functions that a function, its methods or a macro calls, and the macros, variables "
                "and constants it uses.",
                "list-callees", on_callees, look_up_run);
