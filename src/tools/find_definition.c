/*
 * find-definition: the source text of every definition of a name, or the machine code of a function. The Lisp
 * sends the text if it comes from a file; for evaluated code it sends the number of the evaluation and the
 * range, and the journal has the text.
 */
#include <ctype.h>
#include <string.h>

#include "calls/look_up.h"
#include "session/records/journal.h"
#include "tools/enter_errors.h"

static void add_evaluated(struct tool_call *call, struct session *s, const struct sexp *definition,
                          int64_t evaluation)
{
    const struct journal_entry *entry =
        evaluation > 0 ? journal_find(session_journal(s), (uint64_t)evaluation) : NULL;
    if (entry == NULL) {
        strbuf_adds(&call->text, "(the text of that evaluation is no longer kept)");
        return;
    }
    int64_t from = sexp_integer(sexp_get(definition, 0, "start"), 0);
    int64_t to = sexp_integer(sexp_get(definition, 0, "end"), INT64_MAX);
    size_t len;
    const char *code =
        journal_code_between(entry, from < 0 ? 0 : (size_t)from, to < 0 ? 0 : (size_t)to, &len);
    while (len > 0 && isspace((unsigned char)code[len - 1]))
        len--;
    look_up_add_text(call, s, code, len);
}

/* The implementation's own sources have logical pathnames, and are rarely installed. */
static bool is_of_the_lisp(const char *file)
{
    return strncmp(file, "SYS:", 4) == 0;
}

static void add_from_file(struct tool_call *call, struct session *s, const struct sexp *definition)
{
    const char *file = sexp_string(sexp_get(definition, 0, "file"), NULL);
    size_t len;
    const char *text = sexp_string(sexp_get(definition, 0, "text"), &len);
    if (!sexp_is_nil(sexp_get(definition, 0, "missing")))
        strbuf_adds(&call->text, is_of_the_lisp(file)
                                     ? "(part of the Lisp itself; its sources are not installed)"
                                     : "(the file cannot be read)");
    else if (!sexp_is_nil(sexp_get(definition, 0, "changed")) && text == NULL)
        strbuf_adds(&call->text, "(the file no longer contains this definition)");
    else if (text == NULL)
        strbuf_adds(&call->text,
                    "(not found in the file by its name: a macro may have generated it, or the file has "
                    "changed since it was loaded)");
    else {
        look_up_add_text(call, s, text, len);
        reply_fill(&call->text, definition, "{cut?\n[… the rest is in the file …]}");
    }
    reply_fill(&call->text, definition,
               "{lines?\n(the loaded definition may be another form, at line {lines*, |{}})}");
}

static bool is_same(const struct sexp *a, const struct sexp *b, const char *key)
{
    const struct sexp *one = sexp_get(a, 0, key), *two = sexp_get(b, 0, key);
    if (sexp_string(one, NULL) != NULL || sexp_string(two, NULL) != NULL)
        return reply_is_same(one, two);
    return sexp_integer(one, -1) == sexp_integer(two, -1);
}

/* A class and its accessors are defined by the same form, whose text is shown once. */
static bool is_shown(const struct sexp *definitions, size_t n)
{
    const struct sexp *definition = sexp_nth(definitions, n);
    if (sexp_get(definition, 0, "evaluation") == NULL && sexp_get(definition, 0, "line") == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct sexp *other = sexp_nth(definitions, i);
        if (is_same(definition, other, "evaluation") && is_same(definition, other, "start") &&
            is_same(definition, other, "file") && is_same(definition, other, "line"))
            return true;
    }
    return false;
}

static void add_definition(struct tool_call *call, struct session *s, const struct sexp *definitions,
                           size_t n)
{
    const struct sexp *definition = sexp_nth(definitions, n);
    int64_t evaluation = sexp_integer(sexp_get(definition, 0, "evaluation"), 0);
    const char *kind = sexp_string(sexp_get(definition, 0, "kind"), NULL), *text;
    size_t len;
    reply_fill(&call->text, definition, "\n\n[{kind}] {name/  }" PLACE "\n");
    if (is_shown(definitions, n))
        strbuf_adds(&call->text, "(shown above)");
    else if (evaluation > 0)
        add_evaluated(call, s, definition, evaluation);
    else if (sexp_string(sexp_get(definition, 0, "file"), NULL) != NULL)
        add_from_file(call, s, definition);
    else if ((text = sexp_string(sexp_get(definition, 0, "text"), &len)) != NULL) {
        look_up_add_text(call, s, text, len);
        reply_fill(&call->text, definition, "\n({by})");
    } else if (kind != NULL && strcmp(kind, "GENERIC-FUNCTION") == 0)
        strbuf_adds(&call->text, "(created implicitly by its first method)");
    else
        strbuf_adds(&call->text, "(source location not recorded)");
}

static void on_definitions(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *definitions = reply_get(o->reply, "definitions");
    size_t total = reply_count(o->reply, "total");
    reply_fill(&call->text, o->reply, "{name} has {#total definition}:");
    for (size_t i = 0; i < sexp_count(definitions); i++)
        add_definition(call, o->session, definitions, i);
    look_up_add_rest(call, sexp_count(definitions), total);
}

static void on_listing(struct tool_call *call, const struct outcome *o)
{
    size_t len;
    const char *text = sexp_string(reply_get(o->reply, "text"), &len);
    reply_fill(&call->text, o->reply,
               "{methods?{name} is a generic function; these are its {#methods method}.\n}");
    while (len > 0 && text[len - 1] == '\n')
        len--;
    look_up_add_text(call, o->session, text == NULL ? "" : text, len);
    reply_fill(&call->text, o->reply, "{cut?\n[… the rest of the listing was not kept …]}");
}

static void run(struct tool_call *call, struct session *s)
{
    if (!arguments_boolean(call, "machine-code")) {
        call_begin_operation(call, "find-definition");
        look_up(call, s, on_definitions);
        return;
    }
    call_begin_operation(call, "disassemble");
    if (arguments_has(call, "frame"))
        enter_errors_look_up(call, s, on_listing);
    else
        look_up(call, s, on_listing);
}

/* clang-format off */
static const char *const types[] = {
    "all", "function", "setf-function", "generic-function", "method", "macro", "compiler-macro",
    "variable", "constant", "symbol-macro", "class", "structure", "condition", "type", "setf-expander",
    "method-combination", "package", NULL};
/* clang-format on */

const struct tool tool_find_definition = {
    .name = "find-definition",
    .title = "Find a definition",
    .description = "Return the source code of a name's definitions, also of those made here, with file and "
                   "line; or disassemble it.",
    .is_read_only = true,
    .arguments = {ARGUMENT("name", STRING, "", .is_required = true, .excludes = "frame"), PACKAGE_ARGUMENT,
                  ARGUMENT("type", STRING, "Only this: function, method, class, ...", .choices = types,
                           .default_choice = "all"),
                  ARGUMENT("machine-code", BOOLEAN, "", .is_servers = true),
                  ARGUMENT("frame", INTEGER, "Disassemble this frame.", .minimum = 0, .maximum = 1000,
                           .needs = "machine-code"),
                  INDEX_ARGUMENT, LIMIT_ARGUMENT_OF(20), FROM_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
