/*
 * Responsible for the sentences about what a person did, and for stage-remark, by which a person says
 * something to the agent. No list shows that tool.
 */
#include "tools/person.h"

#include <string.h>

#include "base/utf8.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/events.h"

#define LONGEST_SHOWN 200
#define LONGEST_REMARK 16384

/* What the person did, and the argument that says to what. */
struct deed {
    const char *tool, *did, *argument;
};

static const struct deed deeds[] = {
    {"evaluate-lisp", "evaluated", "code"},
    {"evaluate-in-frame", "evaluated in a frame of an error", "code"},
    {"invoke-restart", "invoked the restart", "restart"},
    {"return-from-frame", "returned from frame", "frame"},
    {"restart-frame", "restarted frame", "frame"},
    {"cancel-evaluation", "cancelled the evaluation", "evaluation"},
    {"interrupt-thread", "interrupted the thread", "thread"},
    {"kill-thread", "ended the thread", "thread"},
    {"rollback-session", "rolled the session back to", "to"},
    {"checkpoint-session", "made the checkpoint", "name"},
    {"delete-checkpoint", "deleted the checkpoint", "name"},
    {"reset-session", "reset the session", NULL},
};

/* The first line of a text; a number as it is. */
static void add_argument(struct strbuf *out, const json_t *value)
{
    if (json_is_integer(value))
        strbuf_addf(out, " %lld", (long long)json_integer_value(value));
    const char *text = json_string_value(value);
    if (text == NULL)
        return;
    size_t len = json_string_length(value), line = strcspn(text, "\n");
    size_t shown = line > LONGEST_SHOWN ? utf8_floor(text, line, LONGEST_SHOWN) : line;
    strbuf_addf(out, " %.*s%s", (int)shown, text, shown < len ? " ..." : "");
}

static void add_deed(const struct tool_call *call, struct strbuf *out)
{
    const struct deed *deed = NULL;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (strcmp(deeds[i].tool, call->tool->name) == 0)
            deed = &deeds[i];
    strbuf_addf(out, "The person %s%s", deed != NULL ? deed->did : "called ",
                deed != NULL ? "" : call->tool->name);
    if (deed != NULL && deed->argument != NULL)
        add_argument(out, json_object_get(call->arguments, deed->argument));
}

static bool has_done_nothing(const struct tool_call *call)
{
    extern const struct tool tool_cancel_evaluation, tool_stage_remark;
    bool is_idle_cancel =
        call->tool == &tool_cancel_evaluation && strncmp(strbuf_string(&call->text), "Stopping", 8) != 0;
    return call->tool->is_read_only || call->tool == &tool_stage_remark || is_idle_cancel;
}

void person_tell(struct tool_call *call)
{
    struct session *s = call->author.is_person && !has_done_nothing(call)
                            ? sessions_find(call->toolbox->sessions, call_session_name(call))
                            : NULL;
    struct strbuf text;
    if (s == NULL)
        return;
    strbuf_init(&text, 0);
    add_deed(call, &text);
    if (call->is_evaluation)
        strbuf_addf(&text, " (evaluation %llu)", (unsigned long long)session_evaluations(s));
    strbuf_adds(&text, call->is_error ? ", which failed." : ".");
    call_redact(call, &text);
    notices_addf(session_notices(s), "%s", strbuf_string(&text));
    if (!call_takes(call, "code"))
        events_add_person(call->toolbox->events, s, &call->author, strbuf_string(&text));
    strbuf_fini(&text);
}

static void stage_remark(struct tool_call *call)
{
    struct session *s = call_session(call);
    size_t len;
    const char *text = call_string(call, "text", &len);
    if (s == NULL)
        return;
    if (len > LONGEST_REMARK || memchr(text, '\0', len) != NULL) {
        call_answer(call, true, "A remark has at most %d bytes, and no NUL.", LONGEST_REMARK);
        return;
    }
    notices_add(session_notices(s), FACT(FACT_STAGED, .texts = {text}));
    if (session_notices(s)->is_full) {
        call_answer(call, true, "Too much waits to be told to the agent already.");
        return;
    }
    events_add_person(call->toolbox->events, s, &call->author, text);
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
    .run = stage_remark,
};
