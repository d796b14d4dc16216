/*
 * describe-system: information about a system without loading it, and its dependency tree. It runs in a copy
 * of the session that is discarded, because finding a system loads its definition.
 */
#include <string.h>

#include "base/text.h"
#include "tools/look_up.h"
#include "tools/system_origins.h"

static void add_line(struct strbuf *out, const struct sexp *reply, const char *key, const char *label)
{
    size_t len;
    const char *text = sexp_string(reply_get(reply, key), &len);
    if (text != NULL && len > 0)
        strbuf_addf(out, "\n%s: %.*s", label, (int)len, text);
}

static void add_components(struct strbuf *out, const struct sexp *reply)
{
    const struct sexp *components = reply_get(reply, "components");
    if (sexp_count(components) > 0)
        strbuf_adds(out, "\n\nComponents:");
    for (size_t i = 0; i < sexp_count(components); i++) {
        const struct sexp *component = sexp_nth(components, i);
        int64_t depth = sexp_integer(sexp_nth(component, 0), 0);
        bool is_module = sexp_string(sexp_nth(component, 2), NULL) == NULL;
        strbuf_addf(out, "\n%*s- ", (int)depth * 2, "");
        reply_add_string(out, sexp_nth(component, 1));
        strbuf_adds(out, is_module ? "/" : "");
    }
    if (reply_flag(reply, "more"))
        strbuf_addf(out, "\n... more than %zu", sexp_count(components));
}

static void on_described(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    reply_fill(out, o->reply, "System {name}");
    strbuf_adds(out, reply_flag(o->reply, "loaded") ? " (loaded)" : " (not loaded)");
    add_line(out, o->reply, "description", "Description");
    add_line(out, o->reply, "version", "Version");
    add_line(out, o->reply, "author", "Author");
    add_line(out, o->reply, "maintainer", "Maintainer");
    add_line(out, o->reply, "license", "License");
    add_line(out, o->reply, "homepage", "Homepage");
    add_line(out, o->reply, "file", "Definition");
    strbuf_addf(out, "\nFound: %s", system_origin_text(reply_get(o->reply, "place")));
    reply_add_list(out, "\nRequired by its definition: ", reply_get(o->reply, "defsystem-depends-on"), ", ",
                   "");
    reply_add_list(out, "\nDepends on: ", reply_get(o->reply, "depends-on"), ", ", "");
    reply_add_list(out, "\nTests: ", reply_get(o->reply, "tests"), ", ", "");
    add_components(out, o->reply);
    size_t len;
    const char *text = sexp_string(reply_get(o->reply, "long-description"), &len);
    if (text != NULL && len > 0)
        strbuf_addf(out, "\n\nLong description:\n%.*s", (int)len, text);
}

static void add_state(struct strbuf *out, const struct sexp *entry)
{
    const struct sexp *state = sexp_nth(entry, 2), *repeat = sexp_nth(entry, 3);
    size_t len;
    const char *version = sexp_string(sexp_nth(entry, 4), &len);
    if (version != NULL)
        strbuf_addf(out, " %.*s or newer", (int)len, version);
    if (sexp_is_symbol(state, "loaded"))
        strbuf_adds(out, " (loaded)");
    else if (sexp_is_symbol(state, "absent"))
        strbuf_adds(out, " (NOT FOUND)");
    else if (sexp_is_symbol(state, "broken"))
        strbuf_adds(out, " (definition cannot be loaded)");
    if (sexp_is_symbol(repeat, "cycle"))
        strbuf_adds(out, " (CYCLE: see above)");
}

static void on_dependencies(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    const struct sexp *entries = reply_get(o->reply, "dependencies");
    size_t direct = 0, all = 0, absent = 0, cycles = 0;
    for (size_t i = 0; i < sexp_count(entries); i++) {
        const struct sexp *entry = sexp_nth(entries, i);
        bool is_repeated = !sexp_is_nil(sexp_nth(entry, 3));
        direct += sexp_integer(sexp_nth(entry, 0), 0) == 0;
        all += !is_repeated;
        absent += !is_repeated && sexp_is_symbol(sexp_nth(entry, 2), "absent");
        cycles += sexp_is_symbol(sexp_nth(entry, 3), "cycle");
    }
    reply_fill(out, o->reply, "{name} depends on ");
    if (direct == 0)
        strbuf_adds(out, "no other system");
    else
        strbuf_adds(out, text_count(direct, "system").text);
    if (direct > 0)
        strbuf_addf(out, ", %zu including indirect dependencies", all);
    if (absent > 0)
        strbuf_addf(out, "; %zu not found", absent);
    if (cycles > 0)
        strbuf_addf(out, "; %s", text_count(cycles, "cycle").text);
    strbuf_addc(out, direct == 0 ? '.' : ':');
    for (size_t i = 0; i < sexp_count(entries); i++) {
        const struct sexp *entry = sexp_nth(entries, i);
        strbuf_addf(out, "\n%*s- ", (int)sexp_integer(sexp_nth(entry, 0), 0) * 2, "");
        reply_add_string(out, sexp_nth(entry, 1));
        add_state(out, entry);
    }
    if (reply_flag(o->reply, "more"))
        strbuf_addf(out, "\n... more than %zu", sexp_count(entries));
}

static void run(struct tool_call *call, struct session *s)
{
    bool wants_tree = call_boolean(call, "transitive");
    call_begin_request(call, wants_tree ? "system-dependencies" : "describe-system");
    call_write_string(call, "system");
    call_write_flag(call, "transitive", wants_tree);
    look_up_in_copy(call, s, "describe-system", LOOK_UP_MS, "its .asd file is loaded now",
                    wants_tree ? on_dependencies : on_described);
}

const struct tool tool_describe_system = {
    .name = "describe-system",
    .title = "Describe a system",
    .description = "Describe an ASDF system without loading it: description, version, location, "
                   "dependencies, tests and files; or show its whole dependency tree.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments = {ARGUMENT("system", STRING, "System name.", .is_required = true),
                  ARGUMENT("transitive", BOOLEAN,
                           "Show the tree of all its dependencies instead, and which are loaded or missing."),
                  SESSION_ARGUMENT},
    .run_in = run,
};
