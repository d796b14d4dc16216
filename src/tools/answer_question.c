/*
 * answer-question: the line that running code reads, typed by a person who looks on. The log of events shows
 * the question. No list shows this tool.
 */
#include "session/sessions.h"
#include "tools/call.h"

static void answer_question(struct tool_call *call)
{
    struct session *s = sessions_find(call->toolbox->sessions, call_session_name(call));
    struct operation *asking = s == NULL ? NULL : session_asking(s, call_integer(call, "question", 0));
    size_t len = 0;
    const char *text = call_string(call, "text", &len);
    if (asking == NULL) {
        call_answer(call, true, "This question is no longer open.");
        return;
    }
    session_answer(asking, call_integer(call, "question", 0), text, len);
    call_answer(call, false, "The code has read it.");
}

const struct tool tool_answer_question = {
    .name = "answer-question",
    .title = "Answer a question",
    .description = "Give running code the line that it reads from a terminal.",
    .toolset = TOOLSET_FULL,
    .arguments =
        {
            {.name = "question",
             .type = ARGUMENT_INTEGER,
             .is_required = true,
             .minimum = 0,
             .maximum = 9007199254740991,
             .description = "Its number in the log of events."},
            {.name = "text", .type = ARGUMENT_STRING, .description = "The line; default: end of input."},
            SESSION_ARGUMENT,
        },
    .run = answer_question,
};
