/*
 * The tools of the window, in which a person looks on: session-events, the log of a session's events as JSON,
 * for the resource lisp://session/NAME/events; answer-question, the line that running code reads;
 * stage-remark, what a person wants to say to the agent, which comes with its next reply. No list shows them.
 */
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "events/events.h"
#include "session/session.h"

#define USUAL_LIMIT 200
#define LONGEST_REMARK 16384

static void session_events(struct tool_call *call)
{
    struct session *s = arguments_session(call);
    if (s == NULL) {
        call_unknown_session(call, arguments_session_name(call));
        return;
    }
    call->is_document = true;
    events_read(call->toolbox->events, s, arguments_integer(call, "after", -1),
                arguments_integer(call, "before", 0), (size_t)arguments_integer(call, "limit", USUAL_LIMIT),
                &call->text);
    call->is_of_asked_length = call->is_redacted = true;
    call_finish(call);
}

static void answer_question(struct tool_call *call)
{
    struct session *s = arguments_session(call);
    struct operation *asking = s == NULL ? NULL : session_asking(s, arguments_integer(call, "question", 0));
    size_t len = 0;
    const char *text = arguments_string(call, "text", &len);
    if (asking == NULL) {
        call_answer(call, true, "This question is no longer open.");
        return;
    }
    session_answer(asking, arguments_integer(call, "question", 0), text, len);
    call_answer(call, false, "The code has read it.");
}

static void stage_remark(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *text = arguments_string(call, "text", &len);
    if (len > LONGEST_REMARK || memchr(text, '\0', len) != NULL) {
        call_answer(call, true, "A remark has at most %d bytes, and no NUL.", LONGEST_REMARK);
        return;
    }
    notices_add(session_notices(s), FACT(FACT_STAGED, .texts = {text}));
    if (session_notices(s)->is_full) {
        call_answer(call, true, "Too much waits to be told to the agent already.");
        return;
    }
    events_add_text(call->toolbox->events, s, "person", &call->options.author, "text", text);
    call_answer(call, false, "It comes with the agent's next reply in session %s.", session_name(s));
}

#define NUMBER_ARGUMENT(name, ...)                                                                           \
    ARGUMENT(name, INTEGER, __VA_ARGS__, .minimum = 0, .maximum = 9007199254740991)

const struct tool tool_session_events = {
    .name = "session-events",
    .title = "Show events",
    .description = "Show what has happened in the session, step by step, as JSON.",
    .is_read_only = true,
    .arguments = {NUMBER_ARGUMENT("after", "Show the oldest events after this one."),
                  NUMBER_ARGUMENT("before", "Show the newest events before this one."),
                  ARGUMENT("limit", INTEGER, "Number of events; default: 200.", .minimum = 1,
                           .maximum = EVENTS_MOST_READ),
                  SESSION_ARGUMENT},
    .run = session_events,
};

const struct tool tool_answer_question = {
    .name = "answer-question",
    .title = "Answer a question",
    .description = "Give running code the line that it reads from a terminal.",
    .arguments = {NUMBER_ARGUMENT("question", "Its number in the log of events.", .is_required = true),
                  ARGUMENT("text", STRING, "The line; default: end of input."), SESSION_ARGUMENT},
    .run = answer_question,
};

const struct tool tool_stage_remark = {
    .name = "stage-remark",
    .title = "Stage a remark",
    .description = "Put a remark or a form in front of the agent: it comes with its next reply, once.",
    .arguments = {ARGUMENT("text", STRING, "The remark.", .is_required = true), SESSION_ARGUMENT},
    .run_in = stage_remark,
};
