/*
 * cancel-evaluation: stop what a session is doing; the stopped call is answered with what became of it.
 */
#include "tools/call.h"

static void run(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    struct strbuf what;
    strbuf_init(&what, 0);
    if (session_stop(s, &what))
        call_answer(call, false, "Stopping: %s\nThe reply to that call reports how it was stopped.",
                    strbuf_string(&what));
    else
        call_answer(call, false, "Nothing is running in session %s.", session_name(s));
    strbuf_fini(&what);
}

const struct tool tool_cancel_evaluation = {
    .name = "cancel-evaluation",
    .title = "Cancel the running evaluation",
    .description = "Stop the evaluation that is running in a session. The session keeps its state, and the "
                   "stopped call reports how it ended.",
    .toolset = TOOLSET_FULL,
    .is_destructive = true,
    .arguments = {SESSION_ARGUMENT},
    .run = run,
};
