/*
 * Adds to the text of a finished call the news of the session and of other clients, takes credentials out
 * of it and cuts it; and records the call in the audit log.
 */
#include "calls/reply_text.h"

#include <uv.h>

#include "base/redact.h"
#include "base/strbuf.h"
#include "calls/arguments.h"
#include "calls/listing.h"
#include "calls/other_clients.h"
#include "calls/tool_call.h"
#include "calls/user_tools.h"
#include "events/audit.h"
#include "report/report.h"
#include "report/section.h"
#include "session/session.h"
#include "session/sessions.h"

/* A reply shows several parts of up to max-output bytes each, but at most this many times max-output in
 * all. */
#define MOST_PARTS 4
#define MOST_OF_AN_ERROR 9900 /* clients cut longer texts */

/* The session that an argument names, even if the call is not for a session that exists. */
static const char *session_concerned(const struct tool_call *call)
{
    for (const struct tool_argument *a = call->tool->arguments; a->name != NULL; a++)
        if (a->names_session && arguments_has(call, a->name))
            return arguments_string(call, a->name, NULL);
    return arguments_session_name(call);
}

void reply_text_record(const struct tool_call *call, const json_t *arguments, const char *outcome)
{
    if (call->toolbox->audit == NULL)
        return;
    audit_record(call->toolbox->audit, &(struct audit_call){
                                           .principal = call->toolbox->owner,
                                           .session = session_concerned(call),
                                           .tool = call->tool->name,
                                           .arguments = arguments,
                                           .outcome = outcome,
                                           .took_ms = (uv_hrtime() - call->started_ns) / 1000000,
                                           .bytes = call->text.len,
                                       });
}

static void clean_structured(struct tool_call *call)
{
    if (call->structured == NULL)
        return;
    json_t *structured = audit_shown(call->structured, call->toolbox->redacts);
    json_decref(call->structured);
    call->structured = structured;
}

/* Cut the reply to the limits of its session, which keeps the rest, for every tool; one to a call that names
 * an unknown session to those of the default session. */
static void bound_text(struct tool_call *call)
{
    struct session *s = arguments_session(call);
    if (s == NULL && call->toolbox->sessions != NULL)
        s = sessions_find(call->toolbox->sessions, call->default_session);
    if (s == NULL || call->is_of_asked_length)
        return;
    size_t most = MOST_PARTS * (size_t)arguments_integer(call, "max-output",
                                                         limits_int(session_limits(s), LIMIT_MAX_OUTPUT));
    report_cut_whole(&call->text, s, call->is_error && most > MOST_OF_AN_ERROR ? MOST_OF_AN_ERROR : most);
}

/* A reply from the middle of an operation begins by saying so. */
static void add_moment(struct tool_call *call)
{
    struct strbuf text = {0};
    if (call->moment == NULL)
        return;
    section_mark(&call->text);
    strbuf_addf(&text, "(%s)\n", call->moment);
    section_add_marked(&text, &call->text);
    strbuf_fini(&call->text);
    call->text = text;
}

/* The answer goes to a client, and more than was asked may be added. After an early answer that goes into the
 * next reply. */
static bool may_tell_more(const struct tool_call *call)
{
    return !call->is_answered && !call->is_of_asked_length && !call->is_document &&
           arguments_may_have(call, "session");
}

/* What the session has to report is not kept for the next evaluation: the client may only look. */
static void add_notice(struct tool_call *call)
{
    struct session *s = arguments_session(call);
    if (s != NULL && may_tell_more(call) && !call->is_of_record && call->options.author.kind != AUTHOR_PERSON)
        report_news(&call->text, s, NULL);
}

/* Other clients are told its code, or the name of the tool. */
static void add_to_others(const struct tool_call *call, struct other_clients *others, const char *session)
{
    struct strbuf name = {0};
    size_t len;
    const char *code = arguments_string(call, "code", &len);
    strbuf_adds(&name, call->tool->name);
    if (call->tool == &tool_user)
        strbuf_addf(&name, "-%s", arguments_string(call, "tool", NULL));
    other_clients_evaluated(others, call->options.client, session, code != NULL ? code : strbuf_string(&name),
                            code != NULL ? len : name.len);
    strbuf_fini(&name);
}

/* Record the evaluation for other clients, and add what they evaluated. */
static void tell_others(struct tool_call *call)
{
    struct other_clients *others = call->toolbox->other_clients;
    const char *session = arguments_session_name(call);
    if (others == NULL || call->options.client == 0 || arguments_session(call) == NULL)
        return;
    if (may_tell_more(call))
        other_clients_tell(others, call->options.client, session, &call->text);
    if (call->is_evaluation)
        add_to_others(call, others, session);
}

void reply_text_complete(struct tool_call *call)
{
    if (call->effects != NULL)
        strbuf_addf(&call->text, "\n(Beside threads this runs in the session itself: %s.)", call->effects);
    add_notice(call);
    tell_others(call);
    add_moment(call);
    reply_text_redact(call, &call->text);
    listing_prune_hints(call->toolbox->tools, call->toolbox->listing, &call->text);
    bound_text(call);
    clean_structured(call);
}

void reply_text_redact(const struct tool_call *call, struct strbuf *text)
{
    struct strbuf shown;
    section_mark(text);
    if (!call->toolbox->redacts || call->is_redacted)
        return;
    strbuf_init(&shown, text->limit);
    redact(&shown, strbuf_string(text), text->len);
    strbuf_fini(text);
    *text = shown;
}
