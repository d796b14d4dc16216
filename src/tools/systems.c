/*
 * load-system and load-file.
 */
#include <string.h>

#include "tools/call.h"

/* Loading compiles: it gets more time than an evaluation unless the caller says otherwise. */
#define LOAD_TIMEOUT_MS 300000

static int timeout_of(const struct tool_call *call, const struct session *s)
{
    if (call_has(call, "timeout"))
        return (int)(call_number(call, "timeout", 0) * 1000);
    int session_ms = limits_timeout_ms(session_limits((struct session *)(uintptr_t)s));
    return session_ms > LOAD_TIMEOUT_MS ? session_ms : LOAD_TIMEOUT_MS;
}

/* ${code}, which is emptied here, is what the journal shows and evaluates again. */
static void run_journaled(struct tool_call *call, struct session *s, const struct strbuf *request, const char *what, struct strbuf *code,
                          call_outcome *on_outcome)
{
    struct operation_options options = {
        .request = request,
        .what = what,
        .timeout_ms = timeout_of(call, s),
        .keeps_record = true,
        .code = code->bytes,
        .code_len = code->len,
    };
    call_run(call, s, &options, on_outcome);
    strbuf_fini(code);
}

static void on_loaded(struct tool_call *call, const struct outcome *o)
{
    if (o->kind == OUTCOME_OK) {
        const struct sexp *loaded = sexp_get(o->reply, 2, "loaded");
        const char *system = call_string(call, "system", NULL);
        if (!sexp_is_nil(sexp_get(o->reply, 2, "already")))
            strbuf_addf(&call->text, "%s was loaded already; force: true loads it again.", system);
        else
            strbuf_addf(&call->text, "Loaded %s.", system);
        for (size_t i = 0; i < sexp_count(loaded); i++)
            strbuf_addf(&call->text, "%s%s", i == 0 ? "\nSystems loaded: " : ", ", sexp_string(sexp_nth(loaded, i), NULL));
    }
    call_report(call, o);
}

static void load_system(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    const char *system = call_string(call, "system", NULL);
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "load-system");
    call_write_string(call, &request, "system");
    sexp_write_symbol(&request, "force");
    sexp_write_boolean(&request, call_boolean(call, "force"));
    struct strbuf code;
    strbuf_init(&code, 0);
    strbuf_addf(&code, "(asdf:load-system \"%s\")", system);
    run_journaled(call, s, &request, system, &code, on_loaded);
    strbuf_fini(&request);
}

static void load_file(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    const char *path = call_string(call, "path", NULL);
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "load-file");
    call_write_string(call, &request, "path");
    sexp_write_symbol(&request, "compile");
    sexp_write_boolean(&request, call_boolean(call, "compile"));
    call_write_string(call, &request, "package");
    struct strbuf code;
    strbuf_init(&code, 0);
    strbuf_addf(&code, "(load \"%s\")", path);
    run_journaled(call, s, &request, path, &code, call_report);
    strbuf_fini(&request);
}

const struct tool tool_load_system = {
    .name = "load-system",
    .title = "Load a system",
    .description = "Load an ASDF system and what it depends on.",
    .toolset = TOOLSET_CORE,
    .is_destructive = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "system", .type = ARGUMENT_STRING, .is_required = true, .description = "Name of the system."},
            {.name = "force", .type = ARGUMENT_BOOLEAN, .description = "Load it again even if nothing changed."},
            TIMEOUT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = load_system,
};

const struct tool tool_load_file = {
    .name = "load-file",
    .title = "Load a file",
    .description = "Load a Lisp source file, on request compiled first.",
    .toolset = TOOLSET_STANDARD,
    .is_destructive = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "path", .type = ARGUMENT_STRING, .is_required = true, .description = "The file; relative to the session's directory."},
            {.name = "compile", .type = ARGUMENT_BOOLEAN, .description = "Compile the file, then load the result."},
            {.name = "package", .type = ARGUMENT_STRING, .description = "Package while it loads."},
            TIMEOUT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = load_file,
};
