/*
 * describe-system, system-dependencies, list-local-systems, find-system-file: information about systems
 * without loading them. They run in a copy of the session that is discarded, because finding a system loads
 * its definition.
 */
#include <string.h>

#include "base/text.h"
#include "tools/look_up.h"
#include "tools/places.h"

#define LISTED 200 /* systems that list-local-systems shows unless told otherwise */

static void look_at_system(struct tool_call *call, const char *operation, call_outcome *on_outcome)
{
    struct session *s = call_begin(call, operation);
    if (s == NULL)
        return;
    call_write_string(call, "system");
    call_write_flag(call, "transitive", call_boolean(call, "transitive"));
    look_up_in_copy(call, s, on_outcome);
}

/* describe-system */

static void add_line(struct strbuf *out, const struct sexp *reply, const char *key, const char *label)
{
    size_t len;
    const char *text = sexp_string(reply_get(reply, key), &len);
    if (text != NULL && len > 0)
        strbuf_addf(out, "\n%s: %.*s", label, (int)len, text);
}

static void add_names(struct strbuf *out, const struct sexp *reply, const char *key, const char *label)
{
    const struct sexp *names = reply_get(reply, key);
    for (size_t i = 0; i < sexp_count(names); i++) {
        if (i == 0)
            strbuf_addf(out, "\n%s: ", label);
        else
            strbuf_adds(out, ", ");
        reply_add_string(out, sexp_nth(names, i));
    }
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
    if (look_up_failed(call, o))
        return;
    struct strbuf *out = &call->text;
    strbuf_adds(out, "System ");
    reply_add(out, o->reply, "name");
    strbuf_adds(out, reply_flag(o->reply, "loaded") ? " (loaded)" : " (not loaded)");
    add_line(out, o->reply, "description", "Description");
    add_line(out, o->reply, "version", "Version");
    add_line(out, o->reply, "author", "Author");
    add_line(out, o->reply, "maintainer", "Maintainer");
    add_line(out, o->reply, "license", "License");
    add_line(out, o->reply, "homepage", "Homepage");
    add_line(out, o->reply, "file", "Definition");
    strbuf_addf(out, "\nFound: %s", place_text(reply_get(o->reply, "place")));
    add_names(out, o->reply, "defsystem-depends-on", "Required by its definition");
    add_names(out, o->reply, "depends-on", "Depends on");
    add_names(out, o->reply, "tests", "Tests");
    add_components(out, o->reply);
    size_t len;
    const char *text = sexp_string(reply_get(o->reply, "long-description"), &len);
    if (text != NULL && len > 0)
        strbuf_addf(out, "\n\nLong description:\n%.*s", (int)len, text);
    call_finish(call);
}

static void describe_system(struct tool_call *call)
{
    look_at_system(call, "describe-system", on_described);
}

/* system-dependencies */

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
    if (look_up_failed(call, o))
        return;
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
    reply_add(out, o->reply, "name");
    strbuf_adds(out, " depends on ");
    if (direct == 0)
        strbuf_adds(out, "no other system");
    else
        text_add_count(out, direct, "system");
    if (call_boolean(call, "transitive") && direct > 0)
        strbuf_addf(out, ", %zu including indirect dependencies", all);
    if (absent > 0)
        strbuf_addf(out, "; %zu not found", absent);
    if (cycles > 0) {
        strbuf_adds(out, "; ");
        text_add_count(out, cycles, "cycle");
    }
    strbuf_addc(out, direct == 0 ? '.' : ':');
    for (size_t i = 0; i < sexp_count(entries); i++) {
        const struct sexp *entry = sexp_nth(entries, i);
        strbuf_addf(out, "\n%*s- ", (int)sexp_integer(sexp_nth(entry, 0), 0) * 2, "");
        reply_add_string(out, sexp_nth(entry, 1));
        add_state(out, entry);
    }
    if (reply_flag(o->reply, "more"))
        strbuf_addf(out, "\n... more than %zu", sexp_count(entries));
    call_finish(call);
}

static void system_dependencies(struct tool_call *call)
{
    look_at_system(call, "system-dependencies", on_dependencies);
}

/* find-system-file */

static void on_file(struct tool_call *call, const struct outcome *o)
{
    if (look_up_failed(call, o))
        return;
    struct strbuf *out = &call->text;
    if (sexp_string(reply_get(o->reply, "file"), NULL) == NULL) {
        reply_add(out, o->reply, "name");
        call_answer(call, false, " has no definition file: it is part of the Lisp.");
        return;
    }
    reply_add(out, o->reply, "file");
    strbuf_addf(out, "\nFound: %s", place_text(reply_get(o->reply, "place")));
    add_line(out, o->reply, "directory", "Directory");
    call_finish(call);
}

static void find_system_file(struct tool_call *call)
{
    look_at_system(call, "find-system-file", on_file);
}

/* list-local-systems */

static void on_systems(struct tool_call *call, const struct outcome *o)
{
    if (look_up_failed(call, o))
        return;
    struct strbuf *out = &call->text;
    const struct sexp *systems = reply_get(o->reply, "systems");
    size_t total = reply_count(o->reply, "total"), len;
    const char *pattern = call_string(call, "pattern", &len);
    if (total == 0)
        strbuf_adds(out, "No system");
    else
        text_add_count(out, total, "system");
    if (pattern != NULL)
        strbuf_addf(out, " with \"%.*s\" in the name", (int)len, pattern);
    strbuf_addc(out, total == 0 ? '.' : ':');
    for (size_t i = 0; i < sexp_count(systems); i++) {
        const struct sexp *system = sexp_nth(systems, i);
        strbuf_adds(out, "\n- ");
        reply_add_string(out, sexp_nth(system, 0));
        if (!sexp_is_nil(sexp_nth(system, 3)))
            strbuf_adds(out, " (loaded)");
        if (sexp_string(sexp_nth(system, 1), NULL) != NULL) {
            strbuf_adds(out, ": ");
            reply_add_string(out, sexp_nth(system, 1));
        }
    }
    if (total > sexp_count(systems))
        strbuf_addf(out, "\n... %zu more; use pattern or limit", total - sexp_count(systems));
    call_finish(call);
}

static void list_local_systems(struct tool_call *call)
{
    struct session *s = call_begin(call, "list-systems");
    if (s == NULL)
        return;
    call_write_string(call, "pattern");
    call_write_integer(call, "count", call_integer(call, "limit", LISTED));
    look_up_in_copy(call, s, on_systems);
}

#define SYSTEM_ARGUMENT                                                                                      \
    {                                                                                                        \
        .name = "system", .type = ARGUMENT_STRING, .is_required = true, .description = "System name."        \
    }

const struct tool tool_describe_system = {
    .name = "describe-system",
    .title = "Describe a system",
    .description =
        "Describe an ASDF system without loading it: description, version, dependencies, tests and files.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments = {SYSTEM_ARGUMENT, SESSION_ARGUMENT},
    .run = describe_system,
};

const struct tool tool_system_dependencies = {
    .name = "system-dependencies",
    .title = "List system dependencies",
    .description =
        "List the systems that an ASDF system depends on, and show which of them are loaded or missing.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            SYSTEM_ARGUMENT,
            {.name = "transitive",
             .type = ARGUMENT_BOOLEAN,
             .description = "Include indirect dependencies, as a tree."},
            SESSION_ARGUMENT,
        },
    .run = system_dependencies,
};

const struct tool tool_list_local_systems = {
    .name = "list-local-systems",
    .title = "List local systems",
    .description = "List the systems that load-system finds locally: in the project, in the machine's "
                   "libraries, and those installed by qlot, ocicl or Quicklisp.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            {.name = "pattern",
             .type = ARGUMENT_STRING,
             .description = "Part of the name; default: list all."},
            {.name = "limit",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = 5000,
             .description = "Maximum results; default: 200."},
            SESSION_ARGUMENT,
        },
    .run = list_local_systems,
};

const struct tool tool_find_system_file = {
    .name = "find-system-file",
    .title = "Find a system's file",
    .description = "Show the file that defines an ASDF system, its source directory, and where it was found.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments = {SYSTEM_ARGUMENT, SESSION_ARGUMENT},
    .run = find_system_file,
};
