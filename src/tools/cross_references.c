/*
 * find-references: the references to a name by all relations that it can have, and those that a function
 * makes.
 */
#include <string.h>

#include "base/text.h"
#include "calls/look_up.h"

/* One row for each relation; callees, which go the other way, have none. */
static const struct relation {
    const char *name;     /* in the argument */
    const char *kind;     /* in the agent's reply */
    const char *who, *of; /* the noun for one of those found, and the text between it and the name */
    const char *none;     /* when nothing is found */
    const char *recorded; /* the part that the Lisp records; NULL: everything */
    const char *more;     /* what it does not record */
} relations[] = {
    /* clang-format off */
    {"callers", "calls", "caller", "of", "No calls of {name} are recorded.",
     "calls by name, including inlined functions and functions used as values,",
     ", or calls by a name that is computed at run time"},
    {"readers", "references", "reader", "of", "No readers of {name} are recorded.",
     "reads of special and global variables and constants",
     ". The compiler may replace a constant by its value if that is a number or a character"},
    {"binders", "binds", "binder", "of", "No binders of {name} are recorded.", "bindings of special variables", ""},
    {"setters", "sets", "setter", "of", "No setters of {name} are recorded.",
     "assignments of special and global variables", ""},
    {"users", "macroexpands", "user", "of the macro", "No users of the macro {name} are recorded.",
     "uses", ", or uses of top-level defining macros such as DEFUN"},
    {"methods", "specializes", "method", "on", "No method specializes on {name} or on one of its objects.", NULL, NULL},
    {"subclasses", "subclasses", "direct subclass", "of", "{name} has no subclasses.", NULL, NULL},
    /* clang-format on */
};

/* How many a group has, of which the reply may hold a part. */
static size_t total_of(const struct sexp *group)
{
    int64_t total = sexp_integer(sexp_get(group, 0, "total"), 0);
    return total < 0 ? 0 : (size_t)total;
}

static const struct relation *relation_of(const struct sexp *group)
{
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++)
        if (sexp_is_symbol(sexp_get(group, 0, "kind"), relations[i].kind))
            return &relations[i];
    return NULL;
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
        return is_macro ? "It is a macro: relation: users lists its uses."
               : has_meaning(reply, "special-operator")
                   ? "It is a special operator; uses of those are not recorded."
                   : NULL;
    if (strcmp(r->kind, "macroexpands") == 0)
        return is_macro ? NULL : "It is not a macro.";
    if (r->recorded == NULL)
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
    reply_fill(out, entry, times > 1 ? "{0/    } ({1} times)" : "{0/    }");
}

/* How to see the rest of a group that is not alone in the reply. */
static void add_rest(struct tool_call *call, const char *relation, size_t shown, size_t total, bool is_alone)
{
    if (is_alone)
        look_up_add_rest(call, shown, total);
    else if (shown < total)
        strbuf_addf(&call->text, "\n… %zu more; relation: %s, from: %zu shows them", total - shown, relation,
                    shown);
}

static void add_referrers(struct tool_call *call, const struct sexp *reply, const struct sexp *group,
                          const struct relation *r, bool is_alone)
{
    const struct sexp *found = sexp_get(group, 0, "references");
    size_t total = total_of(group), count = (size_t)sexp_integer(sexp_get(group, 0, "count"), 0);
    strbuf_addf(&call->text, "%s %s ", text_count(total, r->who).text, r->of);
    reply_fill(&call->text, reply, "{name}");
    if (count > total)
        strbuf_addf(&call->text, ", at %zu places", count);
    strbuf_addc(&call->text, ':');
    for (size_t i = 0; i < sexp_count(found); i++) {
        add_name(&call->text, "\n  ", sexp_nth(found, i));
        reply_fill(&call->text, sexp_nth(found, i), PLACE);
    }
    add_rest(call, r->name, sexp_count(found), total, is_alone);
    if (reply_flag(reply, "own") && r->recorded != NULL)
        strbuf_adds(&call->text, "\nFunctions of the Lisp itself and of ASDF are left out.");
}

/* "WHEN (2 times), LOOP"; nothing for an empty list. */
static void add_names(struct strbuf *out, const char *heading, const struct sexp *entries)
{
    for (size_t i = 0; i < sexp_count(entries); i++)
        add_name(out, i == 0 ? heading : ", ", sexp_nth(entries, i));
}

static void add_callees(struct tool_call *call, const struct sexp *reply, const struct sexp *group,
                        bool is_alone)
{
    const struct sexp *calls = sexp_get(group, 0, "calls");
    size_t total = total_of(group);
    const char *kind = sexp_string(sexp_get(group, 0, "function"), NULL);
    strbuf_addf(&call->text, "The %s ", kind == NULL ? "function" : kind);
    reply_fill(&call->text, reply, "{name}");
    if (kind != NULL && strcmp(kind, "generic function") == 0)
        reply_fill(&call->text, group, " ({#methods method})");
    reply_fill(&call->text, group,
               "{total? calls {#total function}:}{total! calls no function by name, as far as is recorded. "
               "Open-coded calls may be missing.}");
    for (size_t i = 0; i < sexp_count(calls); i++) {
        const struct sexp *entry = sexp_nth(calls, i);
        add_name(&call->text, "\n  ", entry);
        reply_fill(&call->text, entry, "{undefined? [undefined]}" PLACE);
    }
    if (total > 0)
        add_rest(call, "callees", sexp_count(calls), total, is_alone);
    add_names(&call->text, "\nMacros: ", sexp_get(group, 0, "macroexpands"));
    add_names(&call->text, "\nVariables and constants: ", sexp_get(group, 0, "references"));
}

/* Each relation that was asked for or that the name can have; those that nothing has come last, in one line.
 */
static void on_references(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *groups = reply_get(o->reply, "groups");
    bool is_alone = arguments_has(call, "relation");
    struct strbuf *out = &call->text, none = {0};
    for (size_t i = 0; i < sexp_count(groups); i++) {
        const struct sexp *group = sexp_nth(groups, i);
        const struct relation *r = relation_of(group);
        if (r != NULL && total_of(group) == 0 && !is_alone) {
            strbuf_addf(&none, "%s%s", none.len > 0 ? ", " : "", r->name);
            continue;
        }
        strbuf_adds(out, out->len > 0 ? "\n" : "");
        if (r == NULL)
            add_callees(call, o->reply, group, is_alone);
        else if (total_of(group) == 0)
            add_nothing(out, r, o->reply);
        else
            add_referrers(call, o->reply, group, r, is_alone);
    }
    if (out->len == 0)
        reply_fill(out, o->reply, "No references to {name} are recorded.{near?\n{near}}");
    if (none.len > 0)
        strbuf_addf(out, "\nNone recorded: %s.", strbuf_string(&none));
    strbuf_fini(&none);
}

/* clang-format off */
static const char *const relation_names[] = {
    "callers", "callees", "readers", "binders", "setters", "users", "methods", "subclasses", NULL};
/* clang-format on */

const struct tool tool_find_references = {
    .name = "find-references",
    .title = "Find references",
    .description = "Cross-references: who calls, reads, binds, sets or specializes on a name, what it "
                   "calls, and subclasses.",
    .arguments = {NAME_ARGUMENT, PACKAGE_ARGUMENT,
                  ARGUMENT("relation", STRING, "Default: all.", .choices = relation_names), LIMIT_ARGUMENT,
                  FROM_ARGUMENT, SESSION_ARGUMENT},
    LOOK_UP("find-references", on_references),
};
