/*
 * session-events: the log of a session's events as JSON, for the resource lisp://session/NAME/events. No list
 * shows it.
 */
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/events.h"

#define USUAL_LIMIT 200

static void session_events(struct tool_call *call)
{
    struct session *s = sessions_find(call->toolbox->sessions, call_session_name(call));
    if (s == NULL) {
        call_unknown_session(call, call_session_name(call));
        return;
    }
    call->is_document = true;
    events_read(call->toolbox->events, s,
                &(struct events_range){.after = call_integer(call, "after", -1),
                                       .before = call_integer(call, "before", 0),
                                       .limit = (size_t)call_integer(call, "limit", USUAL_LIMIT)},
                &call->text);
    call->is_of_asked_length = call->is_redacted = true;
    call_finish(call);
}

#define NUMBER_TYPE .type = ARGUMENT_INTEGER, .minimum = 0, .maximum = 9007199254740991

const struct tool tool_session_events = {
    .name = "session-events",
    .title = "Show events",
    .description = "Show what has happened in the session, step by step, as JSON.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            {.name = "after", NUMBER_TYPE, .description = "Show the oldest events after this one."},
            {.name = "before", NUMBER_TYPE, .description = "Show the newest events before this one."},
            {.name = "limit",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = EVENTS_MOST_READ,
             .description = "Number of events; default: 200."},
            SESSION_ARGUMENT,
        },
    .run = session_events,
};
