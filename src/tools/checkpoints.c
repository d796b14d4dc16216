/*
 * checkpoint-session and rollback-session: earlier states of a session.
 */
#include "tools/checkpoints.h"

#include <string.h>

#include "base/text.h"
#include "calls/look_up.h"
#include "lisp/worker.h"
#include "session/records/snapshots.h"
#include "tools/saves.h"

static void on_checkpoint(struct tool_call *call, const struct outcome *o)
{
    strbuf_addf(&call->text, "Saved the state after evaluation %llu as %s. rollback-session restores it.",
                (unsigned long long)session_at(o->session), arguments_string(call, "name", NULL));
}

static void checkpoint_session(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *name = arguments_string(call, "name", &len);
    if (len == 0 || len > 64 || strspn(name, "0123456789-") == len || strlen(name) != len ||
        strpbrk(name, "\n\r\t") != NULL) {
        call_answer(call, true,
                    "A checkpoint name must be 1 to 64 characters on one line and must not be a number.");
        return;
    }
    look_up_request(call, s, OPERATION_CHECKPOINT, name, on_checkpoint);
}

static void add_checkpoint(struct strbuf *out, const struct snapshot *sn)
{
    strbuf_addf(out, "\n- after evaluation %llu, %s, package ", (unsigned long long)sn->evaluation,
                text_time(sn->when.tv_sec).text);
    text_add_hanging(out, sn->package, strlen(sn->package), "  ");
    if (sn->is_in_error)
        strbuf_adds(out, ", which failed");
    if (sn->name != NULL)
        strbuf_addf(out, ", named %s", sn->name);
}

static json_t *checkpoint_data(const struct snapshot *sn)
{
    return json_pack("{s:I, s:s, s:s*, s:b}", "evaluation", (json_int_t)sn->evaluation, "time",
                     text_time(sn->when.tv_sec).text, "name", sn->name, "has-failed", (int)sn->is_in_error);
}

/* One that is being made counts, unless the last one was refused: then this one will be refused too. */
static bool is_shown(const struct session *s, const struct snapshot *sn)
{
    return worker_state(sn->worker) != WORKER_STARTING || session_why_no_checkpoint(s) == NULL;
}

void checkpoints_list(struct tool_call *call, struct session *s)
{
    const struct snapshots *all = session_snapshots(s);
    const struct snapshot *sn = NULL;
    size_t ready = 0;
    while ((sn = snapshots_next(all, sn)) != NULL)
        ready += is_shown(s, sn);
    if (ready == 0)
        strbuf_addf(&call->text, "No checkpoints in session %s.", session_name(s));
    else
        strbuf_addf(&call->text, "%s; the session is in the state after evaluation %llu:",
                    text_count(ready, "checkpoint").text, (unsigned long long)session_at(s));
    json_t *data = json_array();
    while ((sn = snapshots_next(all, sn)) != NULL) {
        if (!is_shown(s, sn))
            continue;
        add_checkpoint(&call->text, sn);
        json_array_append_new(data, checkpoint_data(sn));
    }
    call->structured = call->options.wants_data ? json_pack("{s:O}", "checkpoints", data) : NULL;
    json_decref(data);
    if (session_why_no_checkpoint(s) != NULL)
        strbuf_addf(&call->text, "\nThe last one failed: %s", session_why_no_checkpoint(s));
    call_finish(call);
}

static void delete_checkpoint(struct tool_call *call, struct session *s)
{
    const char *name = arguments_string(call, "name", NULL);
    if (session_delete_checkpoint(s, name))
        call_answer(call, false, "Deleted the checkpoint %s. The session itself is unchanged.", name);
    else
        call_answer(call, true,
                    "There is no checkpoint named %s; session-history with checkpoints: true lists them.",
                    name);
}

static void on_rolled_back(struct tool_call *call, const struct outcome *o)
{
    strbuf_addf(&call->text,
                "%s\nCurrent package: %s\nFiles, sockets and other processes are not rolled back.",
                o->text == NULL ? "" : o->text, session_package(o->session));
    const struct snapshot *newest = snapshots_newest(session_snapshots(o->session), UINT64_MAX);
    if (newest != NULL && newest->evaluation > session_at(o->session))
        strbuf_adds(&call->text, " Until the next evaluation, later states can be restored too.");
}

static void rollback_session(struct tool_call *call, struct session *s)
{
    look_up_request(call, s, OPERATION_ROLLBACK, arguments_string(call, "to", NULL), on_rolled_back);
}

static const char *const actions[] = {"checkpoint", "save", "delete-checkpoint", "delete-save", NULL};

static void keep_state(struct tool_call *call)
{
    struct session *s;
    bool is_save = arguments_is(call, "action", "save");
    if (arguments_is(call, "action", "delete-save"))
        saves_delete(call);
    else if (!arguments_has(call, "name") && !is_save)
        call_answer(call, true, "Missing argument name: the name of the checkpoint.");
    else if ((s = call_session(call)) == NULL)
        return;
    else if (is_save)
        saves_save(call, s);
    else if (arguments_is(call, "action", "delete-checkpoint"))
        delete_checkpoint(call, s);
    else
        checkpoint_session(call, s);
}

const struct tool tool_checkpoint_session = {
    .name = "checkpoint-session",
    .title = "Keep the state",
    .description = "Keep the present state as a named checkpoint for rollback-session, or save it to disk; "
                   "or delete one.",
    .is_destructive = true,
    .arguments = {ARGUMENT("name", STRING, ""), ARGUMENT("action", STRING, "", .choices = actions),
                  SESSION_ARGUMENT},
    .run = keep_state,
};

const struct tool tool_rollback_session = {
    .name = "rollback-session",
    .title = "Roll back",
    .description = "Undo evaluations: return to an earlier state. Files and other processes stay as they "
                   "are.",
    .is_destructive = true,
    .arguments = {ARGUMENT("to", STRING, "Checkpoint name, evaluation number, or -N: N evaluations back.",
                           .is_required = true),
                  SESSION_ARGUMENT},
    .run_in = rollback_session,
};
