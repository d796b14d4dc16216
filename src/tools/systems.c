/*
 * load-system, quickload and load-file.
 */
#include <string.h>

#include "report/reply.h"
#include "tools/call.h"
#include "tools/detach.h"
#include "tools/system_origins.h"

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

static void load(struct tool_call *call, struct session *s, const char *function)
{
    const char *system = call_string(call, "system", NULL);
    call_write_asks(call);
    struct strbuf code = {0};
    call_add_system_form(&code, function, system);
    call_load(call, s, system, &code, on_loaded);
}

static void load_system(struct tool_call *call, struct session *s)
{
    load(call, s, "asdf:load-system");
}

static void quickload(struct tool_call *call, struct session *s)
{
    load(call, s, "ql:quickload");
}

static void load_file(struct tool_call *call, struct session *s)
{
    const char *path = call_string(call, "path", NULL);
    call_write_asks(call);
    struct strbuf code = {0};
    strbuf_adds(&code, "(load");
    sexp_write_string(&code, path, strlen(path));
    strbuf_addc(&code, ')');
    call_load(call, s, path, &code, call_report);
}

const struct tool tool_load_system = {
    .name = "load-system",
    .title = "Load a system",
    .description =
        "Load an ASDF system and its dependencies. Return output, warnings and the systems loaded.",
    RUNS_CODE,
    .arguments = {ARGUMENT("system", STRING, "System name.", .is_required = true),
                  ARGUMENT("force", BOOLEAN, "Reload a loaded system."), LOADING_TIMEOUT_ARGUMENT,
                  WAIT_ARGUMENT, SESSION_ARGUMENT},
    .operation = "load-system",
    .run_in = load_system,
};

const struct tool tool_quickload = {
    .name = "quickload",
    .title = "Load with Quicklisp",
    .description = "Load a system and its dependencies with Quicklisp, which downloads what is missing.",
    .search_hint = "download a library",
    RUNS_CODE,
    .arguments = {ARGUMENT("system", STRING, "System name.", .is_required = true),
                  ARGUMENT("verbose", BOOLEAN, "Show compiler output."), LOADING_TIMEOUT_ARGUMENT,
                  WAIT_ARGUMENT, SESSION_ARGUMENT},
    .operation = "quickload",
    .run_in = quickload,
};

const struct tool tool_load_file = {
    .name = "load-file",
    .title = "Load a file",
    .description = "Load a Lisp source file, optionally compiled first.",
    RUNS_CODE,
    .arguments = {ARGUMENT("path", STRING, "File, relative to the session's directory.", .is_required = true),
                  ARGUMENT("compile", BOOLEAN, "Compile the file and load the result."),
                  ARGUMENT("package", STRING, "Package while loading.", .is_rare = true),
                  LOADING_TIMEOUT_ARGUMENT, WAIT_ARGUMENT, SESSION_ARGUMENT},
    .operation = "load-file",
    .run_in = load_file,
};
