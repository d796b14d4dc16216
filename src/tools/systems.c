/*
 * load-system: load a system, with ASDF or Quicklisp, or a file.
 */
#include "tools/systems.h"

#include <stdlib.h>
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluations.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "report/report.h"
#include "session/session.h"
#include "tools/clean_start.h"

void systems_add_form(struct strbuf *out, const char *function, const char *system)
{
    size_t len = strlen(system);
    if (len <= 4 || strcmp(system + len - 4, ".asd") != 0) {
        strbuf_addf(out, "(%s", function);
        sexp_write_string(out, system, len);
        strbuf_addc(out, ')');
        return;
    }
    const char *slash = strrchr(system, '/');
    const char *name = slash == NULL ? system : slash + 1;
    strbuf_adds(out, "(progn (asdf:load-asd (truename");
    sexp_write_string(out, system, len);
    strbuf_addf(out, ")) (%s \"%.*s\"))", function, (int)strlen(name) - 4, name);
}

/* The file shows which of several systems of one name was loaded. */
static void add_loaded(struct strbuf *out, const struct sexp *reply)
{
    if (sexp_string(reply_get(reply, "name"), NULL) == NULL)
        return;
    reply_fill(out, reply,
               "{already?{name} was already loaded; force: true reloads it.}{already!Loaded {name}.}"
               "{loaded?\nSystems loaded: {loaded*, |{}}}" SYSTEM_FOUND "{file?: {file}}");
}

/* What compilers print is of interest if loading fails. */
#define MOST_SHOWN_BYTES 500

static void on_loaded(struct tool_call *call, const struct outcome *o)
{
    if (o->kind == OUTCOME_OK) {
        add_loaded(&call->text, o->reply);
        report_put_aside(&call->text, o, MOST_SHOWN_BYTES);
    }
    call_report(call, o);
}

static void on_loaded_clean(struct tool_call *call, const struct outcome *o)
{
    clean_begin_report(call);
    if (o->kind == OUTCOME_OK) {
        strbuf_addc(&call->text, '\n');
        add_loaded(&call->text, o->reply);
    }
    report_evaluation(&call->text, o, call_max_output(call, o));
    call->is_error = o->kind == OUTCOME_ERROR;
    clean_finish(call, o);
}

static void load_file(struct tool_call *call, struct session *s)
{
    const char *path = arguments_string(call, "path", NULL);
    struct strbuf code = {0};
    strbuf_adds(&code, "(load");
    sexp_write_string(&code, path, strlen(path));
    strbuf_addc(&code, ')');
    call_begin_operation(call, "load-file");
    if (session_attached(s) != NULL) {
        /* A relative path means the same as for edit-form, whatever the image's directory is. */
        char *directory = realpath(call_directory(call), NULL);
        if (directory != NULL)
            call_write_text(call, "directory", directory);
        free(directory);
    }
    call_write_asks(call);
    call_load(call, s, path, &code, call_report);
}

static void load(struct tool_call *call, struct session *s)
{
    if (arguments_has(call, "path")) {
        load_file(call, s);
        return;
    }
    const char *system = arguments_string(call, "system", NULL);
    bool is_quicklisp = arguments_boolean(call, "quicklisp"), is_clean = arguments_boolean(call, "clean");
    if (is_clean && (s = clean_start(call, s)) == NULL)
        return;
    struct strbuf code = {0};
    systems_add_form(&code, is_quicklisp ? "ql:quickload" : "asdf:load-system", system);
    call_begin_operation(call, is_quicklisp ? "quickload" : "load-system");
    call_write_asks(call);
    call_load(call, s, system, &code, is_clean ? on_loaded_clean : on_loaded);
}

const struct tool tool_load_system = {
    .name = "load-system",
    .title = "Load a system or file",
    .description = "Load an ASDF system with its dependencies, or a Lisp file. Returns output, warnings "
                   "and what was loaded.",
    RUNS_CODE,
    .arguments =
        {ARGUMENT("system", STRING, "", .is_required = true, .excludes = "path"),
         ARGUMENT("force", BOOLEAN, "Reload it.", .needs = "system"),
         ARGUMENT("clean", BOOLEAN, "", .needs = "system"),
         ARGUMENT("quicklisp", BOOLEAN, "Download what is missing.", .needs = "system", .is_servers = true),
         ARGUMENT("path", STRING, "A file instead."), ARGUMENT("compile", BOOLEAN, "", .needs = "path"),
         ARGUMENT("package", STRING, "", .needs = "path"), TIMEOUT_ARGUMENT, WAIT_ARGUMENT, SESSION_ARGUMENT},
    .run_in = load,
};
