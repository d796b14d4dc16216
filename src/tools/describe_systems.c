/*
 * list-systems of one system: information about it without loading it, and its dependency tree. It runs in a
 * copy of the session that is discarded, because finding a system loads its definition.
 */
#include "tools/describe_systems.h"

#include "base/text.h"
#include "calls/look_up.h"
#include "tools/systems.h"

static void on_described(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *components = reply_get(o->reply, "components");
    struct strbuf *out = &call->text;
    reply_fill(out, o->reply,
               "System {name} {loaded?(loaded)}{loaded!(not loaded)}"
               "{description?\nDescription: {description}}{version?\nVersion: {version}}"
               "{author?\nAuthor: {author}}{maintainer?\nMaintainer: {maintainer}}"
               "{license?\nLicense: {license}}{homepage?\nHomepage: {homepage}}{file?\nDefinition: "
               "{file}}" SYSTEM_FOUND
               "{defsystem-depends-on?\nRequired by its definition: {defsystem-depends-on*, |{}}}"
               "{depends-on?\nDepends on: {depends-on*, |{}}}{tests?\nTests: {tests*, |{}}}"
               "{components?\n\nComponents:}");
    for (size_t i = 0; i < sexp_count(components); i++) {
        strbuf_addf(out, "\n%*s", 2 * (int)sexp_integer(sexp_nth(sexp_nth(components, i), 0), 0), "");
        reply_fill(out, sexp_nth(components, i), "- {1}{2!/}"); /* only a module has no file */
    }
    reply_fill(out, o->reply,
               "{more?\n... more than {,components}}"
               "{long-description?\n\nLong description:\n{long-description}}");
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
    reply_fill(out, o->reply, direct > 0 ? "{name} depends on " : "{name} depends on no other system");
    if (direct > 0)
        strbuf_addf(out, "%s, %zu including indirect dependencies", text_count(direct, "system").text, all);
    if (absent > 0)
        strbuf_addf(out, "; %zu not found", absent);
    if (cycles > 0)
        strbuf_addf(out, "; %s", text_count(cycles, "cycle").text);
    strbuf_addc(out, direct == 0 ? '.' : ':');
    for (size_t i = 0; i < sexp_count(entries); i++) {
        const struct sexp *entry = sexp_nth(entries, i);
        strbuf_addf(out, "\n%*s", (int)sexp_integer(sexp_nth(entry, 0), 0) * 2, "");
        reply_fill(out, entry,
                   "- {1}{4? {4} or newer}{2=loaded? (loaded)}{2=absent? (NOT FOUND)}"
                   "{2=broken? (definition cannot be loaded)}{3=cycle? (CYCLE: see above)}");
    }
    if (reply_flag(o->reply, "more"))
        strbuf_addf(out, "\n... more than %zu", sexp_count(entries));
}

void describe_systems_show(struct tool_call *call, struct session *s)
{
    bool wants_tree = arguments_boolean(call, "transitive");
    call_begin_request(call, wants_tree ? "system-dependencies" : "describe-system");
    call_write_string(call, "system");
    call_write_flag(call, "transitive", wants_tree);
    look_up_in_copy(call, s, "list-systems", LOOK_UP_MS, "its .asd file is loaded now",
                    wants_tree ? on_dependencies : on_described);
}
