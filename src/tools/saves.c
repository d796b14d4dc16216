/*
 * save-session and restore-session: sessions that outlive the server.
 */
#include <string.h>

#include "session/saved.h"
#include "session/sessions.h"
#include "tools/call.h"

static void on_text(struct tool_call *call, const struct outcome *o)
{
    call_answer(call, false, "%s", o->text == NULL ? "" : o->text);
}

static void save_session(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    call_wait(call, on_text);
    call->operation = session_save(s, call_done, call);
}

static void restore_session(struct tool_call *call)
{
    const char *name = call_string(call, "name", NULL);
    struct session *s = sessions_find(call->toolbox->sessions, name);
    struct err err;
    if (call->toolbox->store == NULL || strchr(name, '/') != NULL ||
        !saved_exists(call->toolbox->store, name)) {
        call_answer(call, true, "There is no saved session named %s.", name);
        return;
    }
    if (s == NULL)
        s = sessions_create(call->toolbox->sessions, name, &err);
    if (s == NULL) {
        call_answer(call, true, "%s", err.message);
        return;
    }
    call_wait(call, on_text);
    call->operation = session_restore(s, name, call_done, call);
}

const struct tool tool_save_session = {
    .name = "save-session",
    .title = "Save the session",
    .description = "Save the session to disk under its name while it stays in use. restore-session restores "
                   "it, in this server or another.",
    .search_hint = "persist to disk",
    .toolset = TOOLSET_FULL,
    .is_idempotent = true,
    .arguments = {SESSION_ARGUMENT},
    .run = save_session,
};

const struct tool tool_restore_session = {
    .name = "restore-session",
    .title = "Restore a session",
    .description = "Restore a saved session. It replaces a running session of the same name.",
    .search_hint = "load from disk",
    .toolset = TOOLSET_FULL,
    .is_destructive = true,
    .is_idempotent = true,
    .arguments = {{.name = "name",
                   .type = ARGUMENT_STRING,
                   .names_session = true,
                   .is_required = true,
                   .description = "Name of the saved session."}},
    .run = restore_session,
};
