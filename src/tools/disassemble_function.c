/*
 * disassemble-function: the machine code of a function, or of a generic function's methods.
 */
#include "base/text.h"
#include "tools/look_up.h"

static void on_listing(struct tool_call *call, const struct outcome *o)
{
    if (call_report_failed_look(call, o))
        return;
    size_t len;
    const char *text = sexp_string(sexp_get(o->reply, 2, "text"), &len);
    const struct sexp *methods = sexp_get(o->reply, 2, "methods");
    if (sexp_count(methods) > 0) {
        look_up_add(&call->text, sexp_get(o->reply, 2, "name"));
        strbuf_adds(&call->text, " is a generic function; these are its ");
        text_add_count(&call->text, sexp_count(methods), "method");
        strbuf_adds(&call->text, ".\n");
    }
    while (len > 0 && text[len - 1] == '\n')
        len--;
    look_up_add_text(call, o->session, text == NULL ? "" : text, len);
    if (!sexp_is_nil(sexp_get(o->reply, 2, "cut")))
        strbuf_adds(&call->text, "\n[… the rest of the listing was not kept …]");
    call_finish(call);
}

static void run(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "disassemble");
    call_write_string(call, &request, "name");
    call_write_string(call, &request, "package");
    look_up(call, s, &request, on_listing);
    strbuf_fini(&request);
}

const struct tool tool_disassemble_function = {
    .name = "disassemble-function",
    .title = "Disassemble a function",
    .description =
        "Show the machine code of a function, of a macro, or of the methods of a generic function.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            {.name = "name",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "Symbol, with or without package prefix, or (setf name)."},
            PACKAGE_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = run,
};
