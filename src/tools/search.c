/*
 * apropos-search: find symbols by a part or an abbreviation of their names.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "calls/look_up.h"

#define COMPLETIONS_SHOWN 50 /* unless the call has a limit */

/* A name that the reader would change is printed between bars. */
static bool is_plain(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (islower((unsigned char)name[i]) || strchr(" \t\n()\"';`,:|\\", name[i]) != NULL)
            return false;
    return len > 0;
}

static void add_name(struct strbuf *out, const struct sexp *value, bool lower)
{
    size_t len;
    const char *name = sexp_string(value, &len);
    if (name == NULL)
        return;
    bool plain = is_plain(name, len);
    if (!plain) {
        strbuf_addc(out, '|');
        text_add_hanging(out, name, len, "    ");
        strbuf_addc(out, '|');
        return;
    }
    for (size_t i = 0; i < len; i++)
        strbuf_addc(out, lower ? (char)tolower((unsigned char)name[i]) : name[i]);
}

/* The name of a symbol entry, with one colon if it is exported and two if not. */
static void add_qualified_name(struct strbuf *out, const struct sexp *symbol)
{
    size_t len;
    const char *package = sexp_string(sexp_nth(symbol, 0), &len);
    if (package != NULL && strcmp(package, "KEYWORD") != 0)
        add_name(out, sexp_nth(symbol, 0), false);
    strbuf_adds(out, !sexp_is_nil(sexp_nth(symbol, 2)) ? ":" : "::");
    add_name(out, sexp_nth(symbol, 1), false);
}

/* Of a symbol entry (PACKAGE NAME EXPORTED MEANINGS): ` [MACRO]`. */
#define MEANINGS " [{3*, |{^}}{3!SYMBOL}]"

static void on_found(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *symbols = reply_get(o->reply, "symbols");
    size_t total = reply_count(o->reply, "total");
    int64_t left_out = reply_integer(o->reply, "left-out");
    const char *pattern = arguments_string(call, "pattern", NULL);
    if (total == 0)
        strbuf_addf(&call->text, "No symbols found matching '%s'.", pattern);
    else
        strbuf_addf(&call->text, "Found %s matching '%s':", text_count(total, "symbol").text, pattern);
    for (size_t i = 0; i < sexp_count(symbols); i++) {
        const struct sexp *symbol = sexp_nth(symbols, i);
        strbuf_adds(&call->text, "\n  ");
        add_qualified_name(&call->text, symbol);
        reply_fill(&call->text, symbol, MEANINGS);
    }
    if (total > 0)
        look_up_add_rest(call, sexp_count(symbols), total);
    if (left_out > 0)
        strbuf_addf(&call->text, "\nNot shown: %s of the Lisp's own packages; use package to search one.",
                    text_count((uint64_t)left_out, "internal symbol").text);
}

/* Completions use the case of the prefix: lower case unless the prefix is in upper case. */
static bool is_lower(const char *prefix)
{
    for (const char *p = prefix; *p != '\0'; p++)
        if (isupper((unsigned char)*p))
            return false;
    return true;
}

static void add_completions(struct strbuf *out, const struct sexp *symbols, const char *prefix,
                            bool with_package)
{
    const char *colon = strchr(prefix, ':');
    for (size_t i = 0; i < sexp_count(symbols); i++) {
        const struct sexp *symbol = sexp_nth(symbols, i);
        bool is_exported = !sexp_is_nil(sexp_nth(symbol, 2));
        strbuf_adds(out, "\n  ");
        if (with_package)
            add_name(out, sexp_nth(symbol, 0), is_lower(prefix));
        else if (colon != NULL)
            strbuf_add(out, prefix, (size_t)(colon - prefix));
        if (with_package || colon != NULL)
            strbuf_adds(out, is_exported || (colon != NULL && colon == prefix) ? ":" : "::");
        add_name(out, sexp_nth(symbol, 1), is_lower(prefix));
        if (colon == NULL || colon != prefix)
            reply_fill(out, symbol, MEANINGS);
    }
}

static void on_completed(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *symbols = reply_get(o->reply, "symbols");
    const struct sexp *elsewhere = reply_get(o->reply, "elsewhere");
    const struct sexp *packages = reply_get(o->reply, "packages");
    size_t total = reply_count(o->reply, "total");
    const char *prefix = arguments_string(call, "pattern", NULL);
    if (total == 0 || sexp_count(elsewhere) > 0)
        strbuf_addf(&call->text, "No completions of '%s'%s.", prefix,
                    sexp_count(elsewhere) > 0 ? " here" : "");
    else
        strbuf_addf(&call->text, "%s of '%s', best first:", text_count(total, "completion").text, prefix);
    if (sexp_count(elsewhere) > 0)
        strbuf_adds(&call->text, "\nExported by other packages:");
    add_completions(&call->text, elsewhere, prefix, true);
    if (total > 0 && sexp_count(elsewhere) > 0)
        strbuf_adds(&call->text, "\nHere, with these letters in order:");
    add_completions(&call->text, symbols, prefix, false);
    if (total > 0)
        look_up_add_rest(call, sexp_count(symbols), total);
    if (sexp_count(packages) > 0)
        strbuf_adds(&call->text, "\nPackages:");
    for (size_t i = 0; i < sexp_count(packages) && i < 20; i++) {
        strbuf_adds(&call->text, "\n  ");
        add_name(&call->text, sexp_nth(packages, i), is_lower(prefix));
        strbuf_addc(&call->text, ':');
    }
}

/* clang-format off */
static const char *const symbol_types[] = {
    "all", "function", "generic-function", "macro", "special-operator", "variable", "constant",
    "symbol-macro", "class", "structure", "condition", "type", NULL};
/* clang-format on */

static void run(struct tool_call *call, struct session *s)
{
    bool is_completion = arguments_boolean(call, "complete");
    call_begin_operation(call, is_completion ? "complete-symbol" : "find-symbols");
    if (is_completion && !arguments_has(call, "limit"))
        call_write_integer(call, "limit", COMPLETIONS_SHOWN);
    look_up(call, s, is_completion ? on_completed : on_found);
}

const struct tool tool_apropos_search = {
    .name = "apropos-search",
    .title = "Search for symbols",
    .description = "Find symbols by a part of their names, or complete an abbreviation such as m-v-b.",
    .is_read_only = true,
    .arguments = {ARGUMENT("pattern", STRING, "Part of the name, or prefix.", .is_required = true),
                  PACKAGE_ARGUMENT, ARGUMENT("complete", BOOLEAN, "", .is_servers = true, .excludes = "type"),
                  ARGUMENT("type", STRING, "Only what names this: macro, class, ...", .choices = symbol_types,
                           .default_choice = "all"),
                  ARGUMENT("external-only", BOOLEAN, "", .key = "external", .excludes = "complete"),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
