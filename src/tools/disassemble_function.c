/*
 * disassemble-function: the machine code of a function, of a generic function's methods, or of a frame's
 * function.
 */
#include "tools/enter_errors.h"
#include "tools/look_up.h"

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

static void run(struct tool_call *call)
{
    if (call_has(call, "name") == call_has(call, "frame")) {
        call_answer(call, true, "Pass either name or frame.");
        return;
    }
    struct session *s = call_begin_tool(call);
    if (s != NULL && call_has(call, "frame"))
        look_up_in_error(call, s, on_listing);
    else if (s != NULL)
        look_up(call, s, on_listing);
}

const struct tool tool_disassemble_function = {
    .name = "disassemble-function",
    .title = "Disassemble a function",
    .description = "Show the machine code of a function, a macro, a generic function's methods, or the "
                   "function of an error's frame.",
    .search_hint = "assembly, machine code",
    .returns_long_text = true,
    .is_read_only = true,
    .arguments = {ARGUMENT("name", STRING, "Symbol, with or without package prefix, or (setf name)."),
                  PACKAGE_ARGUMENT,
                  ARGUMENT("frame", INTEGER, "Instead of name: frame number from get-backtrace.",
                           .minimum = 0, .maximum = 1000),
                  INDEX_ARGUMENT, SESSION_ARGUMENT},
    .operation = "disassemble",
    .run = run,
};
