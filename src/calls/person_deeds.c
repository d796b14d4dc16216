/*
 * Responsible for the sentences about what a person did.
 */
#include "calls/person_deeds.h"

#include <stdlib.h>
#include <string.h>

#include "calls/arguments.h"
#include "calls/reply_text.h"
#include "calls/tool_call.h"
#include "events/events.h"
#include "report/section.h"
#include "session/records/error_record.h"
#include "session/session.h"

#define LONGEST_SHOWN 200

/* What the person did, and the argument that says to what. A row with the argument ${with} is for calls that
 * have it, and comes first. */
static const struct deed {
    const char *tool, *did, *argument, *with;
} deeds[] = {
    {"restart-frame", "returned from frame", "frame", "values"},
    {"interrupt-thread", "ended the thread", "thread", "kill"},
    {"checkpoint-session", "called checkpoint-session:", "action", "action"},
    {"evaluate-lisp", "evaluated", "code", NULL},
    {"evaluate-in-frame", "evaluated in a frame of an error", "code", NULL},
    {"invoke-restart", "invoked the restart", "restart", NULL},
    {"restart-frame", "restarted frame", "frame", NULL},
    {"cancel-evaluation", "cancelled the evaluation", "evaluation", NULL},
    {"interrupt-thread", "interrupted the thread", "thread", NULL},
    {"rollback-session", "rolled the session back to", "to", NULL},
    {"checkpoint-session", "made the checkpoint", "name", NULL},
    {"answer-question", "answered", "text", NULL},
    {"reset-session", "reset the session", NULL, NULL},
};

/* The first line of a text; a number as it is. */
static void add_argument(struct strbuf *out, const json_t *value)
{
    if (json_is_integer(value))
        strbuf_addf(out, " %lld", (long long)json_integer_value(value));
    const char *text = json_string_value(value);
    if (text == NULL)
        return;
    strbuf_addc(out, ' ');
    section_add_first_line(out, text, json_string_length(value), LONGEST_SHOWN);
}

/* A flag that is false says nothing. */
static bool is_given(const struct tool_call *call, const char *name)
{
    return arguments_has(call, name) && !json_is_false(json_object_get(call->arguments, name));
}

/* The name of the restart that ${given} names or numbers; ${r} may be NULL. */
static const char *restart_name(const struct error_record *r, const char *given)
{
    char *end;
    unsigned long long number = strtoull(given, &end, 10);
    const struct sexp *restart = r == NULL || *end != '\0' || number == 0
                                     ? NULL
                                     : sexp_nth(error_record_restarts(r), (size_t)number - 1);
    const char *name = sexp_string(sexp_nth(restart, 0), NULL);
    return name != NULL ? name : given;
}

static void add_deed(const struct tool_call *call, const struct session *s, struct strbuf *out)
{
    const struct deed *deed = NULL;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds && deed == NULL; i++)
        if (strcmp(deeds[i].tool, call->tool->name) == 0 &&
            (deeds[i].with == NULL || is_given(call, deeds[i].with)))
            deed = &deeds[i];
    strbuf_addf(out, "The person %s%s", deed != NULL ? deed->did : "called ",
                deed != NULL ? "" : call->tool->name);
    if (deed == NULL || deed->argument == NULL)
        return;
    if (strcmp(deed->argument, "restart") != 0) {
        add_argument(out, json_object_get(call->arguments, deed->argument));
        return;
    }
    const struct error_record *r =
        session_find_error(s, (int)arguments_integer(call, "index", (int64_t)call->since));
    const char *name = restart_name(r, arguments_string(call, "restart", NULL));
    strbuf_addc(out, ' ');
    section_add_first_line(out, name, strlen(name), LONGEST_SHOWN);
    if (r != NULL)
        strbuf_addf(out, " of error %d", r->sequence);
}

/* A remark has its own section in the agent's reply. */
static bool has_done_nothing(const struct tool_call *call)
{
    bool is_idle_cancel = strcmp(call->tool->name, "cancel-evaluation") == 0 &&
                          strncmp(strbuf_string(&call->text), "Stopping", 8) != 0;
    return call->tool->is_read_only || is_idle_cancel || strcmp(call->tool->name, "stage-remark") == 0;
}

void person_deeds_tell(struct tool_call *call)
{
    struct session *s = call->options.author.kind == AUTHOR_PERSON && !has_done_nothing(call)
                            ? arguments_session(call)
                            : NULL;
    struct strbuf text;
    if (s == NULL)
        return;
    strbuf_init(&text, 0);
    add_deed(call, s, &text);
    if (call->is_evaluation)
        strbuf_addf(&text, " (evaluation %llu)", (unsigned long long)session_evaluations(s));
    strbuf_adds(&text, call->is_error ? ", which failed." : ".");
    reply_text_redact(call, &text);
    notices_addf(session_notices(s), "%s", strbuf_string(&text));
    if (!arguments_may_have(call, "code"))
        events_add_text(call->toolbox->events, s, "person", &call->options.author, "text",
                        strbuf_string(&text));
    strbuf_fini(&text);
}
