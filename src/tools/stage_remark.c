/*
 * stage-remark: what a person wants to say to the agent comes with the agent's next reply. No list shows this
 * tool.
 */
#include <string.h>

#include "tools/call.h"
#include "tools/events.h"

#define LONGEST_REMARK 16384

static void stage_remark(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *text = call_string(call, "text", &len);
    if (len > LONGEST_REMARK || memchr(text, '\0', len) != NULL) {
        call_answer(call, true, "A remark has at most %d bytes, and no NUL.", LONGEST_REMARK);
        return;
    }
    notices_add(session_notices(s), FACT(FACT_STAGED, .texts = {text}));
    if (session_notices(s)->is_full) {
        call_answer(call, true, "Too much waits to be told to the agent already.");
        return;
    }
    events_add_text(call->toolbox->events, s, "person", &call->author, "text", text);
    call_answer(call, false, "It comes with the agent's next reply in session %s.", session_name(s));
}

const struct tool tool_stage_remark = {
    .name = "stage-remark",
    .title = "Stage a remark",
    .description = "Put a remark or a form in front of the agent: it comes with its next reply, once.",
    .toolset = TOOLSET_FULL,
    .arguments =
        {
            {.name = "text", .type = ARGUMENT_STRING, .is_required = true, .description = "The remark."},
            SESSION_ARGUMENT,
        },
    .run_in = stage_remark,
};
