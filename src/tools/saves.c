/*
 * save-session, restore-session and delete-save: sessions that outlive the server.
 */
#include <string.h>

#include "report/report.h"
#include "session/sessions.h"
#include "session/store/saved.h"
#include "tools/look_up.h"

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

static void save_session(struct tool_call *call, struct session *s)
{
    const char *name = call_string(call, "name", NULL);
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
    const char *name = call_string(call, "name", NULL);
    if (call->toolbox->store != NULL && strchr(name, '/') == NULL && saved_exists(call->toolbox->store, name))
        return name;
    call_answer(call, true, "There is no saved session named %s.", name);
    return NULL;
}

static void restore_session(struct tool_call *call)
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

static void delete_save(struct tool_call *call)
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

const struct tool tool_save_session = {
    .name = "save-session",
    .title = "Save the session",
    .description =
        "Save the session to disk while it stays in use. restore-session restores it, in this server "
        "or another.",
    .search_hint = "persist to disk",
    .is_idempotent = true,
    .arguments = {ARGUMENT("name", STRING, "Name of the save; default: the session's."), SESSION_ARGUMENT},
    .run_in = save_session,
};

const struct tool tool_restore_session = {
    .name = "restore-session",
    .title = "Restore a session",
    .description =
        "Restore a saved session. It replaces a running session of the same name; the reply says what "
        "was discarded.",
    .search_hint = "load from disk",
    .is_destructive = true,
    .is_idempotent = true,
    .arguments = {ARGUMENT("name", STRING, "Name of the saved session.", .names_session = true,
                           .is_required = true)},
    .run = restore_session,
};

const struct tool tool_delete_save = {
    .name = "delete-save",
    .title = "Delete a saved session",
    .description =
        "Delete a saved session, one of those that list-sessions lists. A running session of that name is "
        "unchanged.",
    .is_destructive = true,
    .arguments = {ARGUMENT("name", STRING, "Name of the saved session.", .is_required = true)},
    .run = delete_save,
};
