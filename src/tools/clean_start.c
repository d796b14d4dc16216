/*
 * Responsible for the session of a clean run: its beginning, its end, and what the session that it was for
 * says of it.
 */
#include "tools/clean_start.h"

#include <stdio.h>
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/look_up.h"
#include "calls/tool_call.h"
#include "lisp/zygotes.h"
#include "report/reply.h"
#include "session/records/limits.h"
#include "session/session.h"
#include "session/sessions.h"

/* The argument that no client sends: the session for which the run is. */
#define FOR "for-session"

static void end(void *s)
{
    sessions_close_later(s);
}

/* One that a run left, because its call was answered early, ends when the next begins. */
static bool end_former(struct tool_call *call, const char *name)
{
    struct session *former = sessions_find(call->toolbox->sessions, name);
    struct strbuf what = {0};
    size_t waiting;
    bool runs = former != NULL && session_running(former, &what, &waiting) >= 0;
    bool is_used = former != NULL && !runs && session_evaluations(former) > 1;
    if (runs)
        call_answer(
            call, true,
            "A clean run goes on already, in session %s: %s. cancel-evaluation with session: %s stops it.",
            name, strbuf_string(&what), name);
    else if (is_used)
        call_answer(call, true,
                    "The clean run needs the name %s, which a session that you use has. Close that first: "
                    "reset-session with session: %s and close: true.",
                    name, name);
    else if (former != NULL)
        sessions_close(former);
    strbuf_fini(&what);
    return !runs && !is_used;
}

struct session *clean_start(struct tool_call *call, struct session *s)
{
    char name[80];
    struct err err;
    snprintf(name, sizeof name, "%.50s-clean", session_name(s));
    if (!end_former(call, name))
        return NULL;
    struct session *clean = sessions_create(call->toolbox->sessions, name, &err);
    if (clean == NULL) {
        call_answer(call, true, "%s", err.message);
        return NULL;
    }
    session_place(clean, session_directory(s), session_confinement(s));
    *session_limits(clean) = *session_limits(s);
    json_object_set_new(call->arguments, FOR, json_string(session_name(s)));
    json_object_set_new(call->arguments, "session", json_string(name));
    call_await(call, clean, end);
    return clean;
}

void clean_begin_report(struct tool_call *call)
{
    const struct session *s = sessions_find(call->toolbox->sessions, arguments_string(call, FOR, NULL));
    strbuf_addf(&call->text, "From a clean start%s:",
                s != NULL && session_attached(s) != NULL ? ", in the server's own Lisp and not in the image"
                                                         : "");
}

static void on_compared(struct tool_call *call, const struct outcome *o)
{
    reply_fill(
        &call->text, o->reply,
        "{still-defined?\n\nUndefined only there: {still-defined*, |{}} is still defined in the session.}"
        "{only-there?\n\nFails only there: {only-there*, |{}}}"
        "{only-here?\n\nFailed only in the session: {only-here*, |{}}}");
}

/* ${image} begins as ${lisp}, its implementation and version, if it is of the same release. */
static void add_lisps(struct strbuf *out, const char *lisp, const char *image)
{
    size_t len = strlen(lisp);
    bool is_same = strncmp(image, lisp, len) == 0 && image[len] == ' ';
    strbuf_addf(out, "\n\nThis ran in %s%s", lisp, is_same ? ", as the image does." : ". The image is ");
    if (!is_same)
        strbuf_addf(out, "%.*s, which may differ.", (int)strcspn(image, ","), image);
}

static void write_failures(struct tool_call *call, const struct sexp *failures)
{
    sexp_write_symbol(&call->request, "failures");
    sexp_write_open(&call->request);
    for (size_t i = 0; i < sexp_count(failures); i++)
        sexp_write_value(&call->request, sexp_get(sexp_nth(failures, i), 0, "test"));
    sexp_write_close(&call->request);
}

void clean_finish(struct tool_call *call, const struct outcome *o)
{
    struct session *s = sessions_find(call->toolbox->sessions, arguments_string(call, FOR, NULL));
    const struct sexp *undefined = o->reply == NULL ? NULL : reply_get(o->reply, "undefined");
    json_object_set(call->arguments, "session", json_object_get(call->arguments, FOR));
    json_object_del(call->arguments, FOR);
    /* Whoever was answered early finds the result in that session. */
    if (!call->is_answered)
        end(o->session);
    call->pending = NULL;
    if (s != NULL && session_image(s) != NULL)
        add_lisps(&call->text, zygotes_lisp(call->toolbox->zygotes), session_image(s));
    if (s == NULL || o->kind != OUTCOME_OK) {
        call_finish(call);
        return;
    }
    call_begin_request(call, "compare-results");
    call_write_string(call, "system");
    write_failures(call, reply_get(o->reply, "failures"));
    if (undefined != NULL) {
        sexp_write_symbol(&call->request, "undefined");
        sexp_write_value(&call->request, undefined);
    }
    look_up(call, s, on_compared);
}
