/*
 * forget-definition: remove from the image what the files no longer define.
 */
#include "base/text.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "session/session.h"

static void on_forgotten(struct tool_call *call, const struct outcome *o)
{
    if (call_report_begin(call, o, "forgotten")) {
        reply_fill(&call->text, o->reply, "Forgotten: {forgotten*, |{name}{callers? ({callers})}}.");
        reply_fill(&call->text, o->reply, "{kept?\nKept: {kept*; |{name}: {why}}.}");
    }
    call_report_end(call, o);
}

static void run(struct tool_call *call, struct session *s)
{
    struct strbuf code = {0};
    strbuf_adds(&code, "nil ; forget-definition ");
    text_add_line(&code, arguments_string(call, "name", NULL));
    call_evaluate(call, s, code.bytes, code.len, on_forgotten);
    strbuf_fini(&code);
}

const struct tool tool_forget_definition = {
    .name = "forget-definition",
    .title = "Forget a definition",
    .description = "Remove a definition that no file has any more; names its callers.",
    .is_destructive = true,
    .arguments = {ARGUMENT("name", STRING, "", .is_required = true), ARGUMENT("package", STRING, ""),
                  FORCE_ARGUMENT, SESSION_ARGUMENT},
    .operation = "forget-definition",
    .run_in = run,
};
