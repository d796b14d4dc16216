/*
 * Saving, restoring and deleting sessions on disk, for checkpoint-session and create-session.
 */
#include "tools/saves.h"

#include <string.h>

#include "calls/look_up.h"
#include "report/report.h"
#include "session/sessions.h"
#include "session/store/saved.h"

static void on_text(struct tool_call *call, const struct outcome *o)
{
    strbuf_adds(&call->text, o->text == NULL ? "" : o->text);
}

/* What the restored session has to report is told at once: this tool is not asked about the caller's session.
 */
static void on_restored(struct tool_call *call, const struct outcome *o)
{
    strbuf_adds(&call->text, o->text == NULL ? "" : o->text);
    if (o->kind == OUTCOME_OK && strcmp(session_name(o->session), call->default_session) != 0)
        strbuf_adds(&call->text, "\nPass its name as session to other tools.");
    report_news(&call->text, o->session, NULL);
}

void saves_save(struct tool_call *call, struct session *s)
{
    const char *name = arguments_string(call, "name", NULL);
    if (name != NULL && !sessions_is_name(name)) {
        call_answer(
            call, true,
            "A save has a name that a session can have: 1 to 64 characters from A-Z a-z 0-9 . _ and -.");
        return;
    }
    look_up_request(call, s, OPERATION_SAVE, name, on_text);
}

/* The name of an existing save; NULL: there is none, and the call is answered. */
static const char *saved_name(struct tool_call *call)
{
    const char *name = arguments_string(call, "name", NULL);
    if (name == NULL) {
        call_answer(call, true, "Pass the name of a saved session; session-info with all: true lists them.");
        return NULL;
    }
    if (call->toolbox->store != NULL && strchr(name, '/') == NULL && saved_exists(call->toolbox->store, name))
        return name;
    call_answer(call, true, "There is no saved session named %s.", name);
    return NULL;
}

void saves_restore(struct tool_call *call)
{
    struct err err;
    const char *name = saved_name(call);
    if (name == NULL)
        return;
    struct session *s = sessions_find(call->toolbox->sessions, name);
    bool is_there = s != NULL && sessions_confirm(s, &err);
    if (s == NULL)
        is_there = (s = sessions_create(call->toolbox->sessions, name, &err)) != NULL;
    if (!is_there) {
        call_answer(call, true, "%s", err.message);
        return;
    }
    look_up_request(call, s, OPERATION_RESTORE, name, on_restored);
}

void saves_delete(struct tool_call *call)
{
    const char *name = saved_name(call);
    if (name == NULL)
        return;
    saved_remove(call->toolbox->store, name);
    call_answer(call, false, "Deleted the saved session %s.%s", name,
                sessions_find(call->toolbox->sessions, name) != NULL
                    ? " The running session of that name continues."
                    : "");
}
