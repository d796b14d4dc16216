/*
 * checkpoint-session, list-checkpoints, rollback-session, session-history: a session's past.
 */
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/utf8.h"
#include "lisp/worker.h"
#include "session/checkpoints.h"
#include "session/journal.h"
#include "tools/call.h"

static void on_checkpoint(struct tool_call *call, const struct outcome *o)
{
    call_answer(call, false, "Saved the state after evaluation %llu as %s. rollback-session restores it.",
                (unsigned long long)session_at(o->session), call_string(call, "name", NULL));
}

static void checkpoint_session(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    size_t len;
    const char *name = call_string(call, "name", &len);
    if (len == 0 || len > 64 || strspn(name, "0123456789-") == len || strlen(name) != len ||
        strpbrk(name, "\n\r\t") != NULL) {
        call_answer(call, true,
                    "A checkpoint name must be 1 to 64 characters on one line and must not be a number.");
        return;
    }
    call_wait(call, on_checkpoint);
    call->operation = session_checkpoint(s, name, call_done, call);
}

static void add_checkpoint(struct strbuf *out, const struct checkpoint *cp)
{
    strbuf_addf(out, "\n- after evaluation %llu, ", (unsigned long long)cp->evaluation);
    text_add_time(out, cp->when.tv_sec);
    strbuf_addf(out, ", package %s", cp->package);
    if (cp->name != NULL)
        strbuf_addf(out, ", named %s", cp->name);
}

/* One that is being made counts, unless the last one was refused, as this one will be then. */
static bool is_shown(const struct session *s, const struct checkpoint *cp)
{
    return worker_state(cp->worker) != WORKER_STARTING || session_why_no_checkpoint(s) == NULL;
}

static void list_checkpoints(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    const struct checkpoints *all = session_checkpoints(s);
    size_t ready = 0;
    for (struct list *node = all->all.next; node != &all->all; node = node->next)
        ready += is_shown(s, list_entry(node, struct checkpoint, node));
    if (ready == 0)
        strbuf_addf(&call->text, "No checkpoints in session %s.", session_name(s));
    else {
        text_add_count(&call->text, ready, "checkpoint");
        strbuf_addf(&call->text, "; the session is in the state after evaluation %llu:",
                    (unsigned long long)session_at(s));
    }
    for (struct list *node = all->all.previous; node != &all->all; node = node->previous)
        if (is_shown(s, list_entry(node, struct checkpoint, node)))
            add_checkpoint(&call->text, list_entry(node, struct checkpoint, node));
    if (session_why_no_checkpoint(s) != NULL)
        strbuf_addf(&call->text, "\nThe last one failed: %s", session_why_no_checkpoint(s));
    call_finish(call);
}

static void on_rolled_back(struct tool_call *call, const struct outcome *o)
{
    strbuf_addf(&call->text, "%s", o->text == NULL ? "" : o->text);
    strbuf_addf(&call->text, "\nCurrent package: %s\nFiles, sockets and other processes are not rolled back.",
                session_package(o->session));
    const struct checkpoint *newest = checkpoints_newest(session_checkpoints(o->session), UINT64_MAX);
    if (newest != NULL && newest->evaluation > session_at(o->session))
        strbuf_adds(&call->text, " Until the next evaluation, later states can be restored too.");
    call_finish(call);
}

static void rollback_session(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    call_wait(call, on_rolled_back);
    call->operation = session_rollback(s, call_string(call, "to", NULL), call_done, call);
}

/* Of one evaluation's code, session-history shows this many bytes. */
#define MOST_CODE 4000

static const char *ending(const struct journal_entry *entry)
{
    static const char *const texts[] = {[JOURNAL_OK] = "",
                                        [JOURNAL_ERROR] = "error",
                                        [JOURNAL_STOPPED] = "stopped",
                                        [JOURNAL_DIED] = "the process died"};
    return texts[entry->outcome];
}

static void add_as_text(struct strbuf *out, const struct journal_entry *entry)
{
    strbuf_addf(out, "\n%llu. ", (unsigned long long)entry->evaluation);
    text_add_time(out, entry->when.tv_sec);
    strbuf_addf(out, " %s", entry->package);
    if (entry->outcome != JOURNAL_OK)
        strbuf_addf(out, ", %s", ending(entry));
    if (entry->is_undone)
        strbuf_adds(out, ", undone");
    strbuf_addc(out, '\n');
    size_t shown =
        entry->code_len > MOST_CODE ? utf8_floor(entry->code, entry->code_len, MOST_CODE) : entry->code_len;
    text_add_indented(out, entry->code, shown, "   ");
    if (shown < entry->code_len)
        strbuf_addf(out, "\n   [… %zu of %zu bytes not shown; use format: lisp]", entry->code_len - shown,
                    entry->code_len);
}

/* Every line of code that is not to be loaded again becomes a comment, so that the whole is a file that
 * loads. */
static void add_as_lisp(struct strbuf *out, const struct journal_entry *entry, const char **package)
{
    bool is_live = entry->outcome == JOURNAL_OK && !entry->is_undone;
    if (is_live && (*package == NULL || strcmp(*package, entry->package) != 0)) {
        strbuf_addf(out, "\n(in-package \"%s\")\n", entry->package);
        *package = entry->package;
    }
    strbuf_addf(out, "\n;; %llu%s%s%s\n", (unsigned long long)entry->evaluation,
                entry->outcome == JOURNAL_OK ? "" : ": ", ending(entry), entry->is_undone ? ": undone" : "");
    text_add_indented(out, entry->code, entry->code_len, is_live ? "" : ";; ");
    strbuf_addc(out, '\n');
}

static void session_history(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    const struct journal *j = session_journal(s);
    const char *format = call_string(call, "format", NULL);
    bool is_lisp = format != NULL && strcmp(format, "lisp") == 0;
    size_t limit = (size_t)call_integer(call, "limit", is_lisp ? JOURNAL_ENTRIES : 20);
    double from = call_number(call, "from", 0);
    size_t first = j->count > limit ? j->count - limit : 0;
    if (from > 0)
        for (first = 0; journal_at(j, first) != NULL && (double)journal_at(j, first)->evaluation < from;)
            first++;
    strbuf_adds(&call->text, is_lisp ? ";;;; Session " : "Session ");
    strbuf_addf(&call->text, "%s: ", session_name(s));
    text_add_count(&call->text, session_evaluations(s), "evaluation");
    if (first > 0 || j->dropped > 0)
        strbuf_adds(&call->text, is_lisp ? "; earlier ones are not shown"
                                         : "; earlier ones are not shown (see from and limit)");
    const char *package = NULL;
    strbuf_adds(&call->text, is_lisp ? "\n" : "");
    for (size_t i = first; i < j->count && i < first + limit; i++) {
        if (is_lisp)
            add_as_lisp(&call->text, journal_at(j, i), &package);
        else
            add_as_text(&call->text, journal_at(j, i));
    }
    call_finish(call);
}

const struct tool tool_checkpoint_session = {
    .name = "checkpoint-session",
    .title = "Save a checkpoint",
    .description = "Save the current state as a named checkpoint, which rollback-session can restore.",
    .toolset = TOOLSET_STANDARD,
    .is_idempotent = true,
    .arguments =
        {{.name = "name", .type = ARGUMENT_STRING, .is_required = true, .description = "Checkpoint name."},
         SESSION_ARGUMENT},
    .run = checkpoint_session,
};

const struct tool tool_list_checkpoints = {
    .name = "list-checkpoints",
    .title = "List checkpoints",
    .description = "List the states that rollback-session can restore, newest first.",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = true,
    .arguments = {SESSION_ARGUMENT},
    .run = list_checkpoints,
};

const struct tool tool_rollback_session = {
    .name = "rollback-session",
    .title = "Roll back the session",
    .description = "Restore an earlier state of the session. Files and other processes are not rolled back.",
    .toolset = TOOLSET_STANDARD,
    .is_destructive = true,
    .arguments =
        {
            {.name = "to",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "Checkpoint name, evaluation number, or -N for N evaluations back."},
            SESSION_ARGUMENT,
        },
    .run = rollback_session,
};

static const char *const formats[] = {"text", "lisp", NULL};

const struct tool tool_session_history = {
    .name = "session-history",
    .title = "Show session history",
    .description =
        "Show what was evaluated in the session and how it ended, or return it as a Lisp file that loads.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            {.name = "limit",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = JOURNAL_ENTRIES,
             .description = "Number of evaluations; default: 20, or all as lisp."},
            {.name = "from",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = 9007199254740991,
             .description = "First evaluation."},
            {.name = "format",
             .type = ARGUMENT_STRING,
             .choices = formats,
             .description = "Output format; default: text."},
            SESSION_ARGUMENT,
        },
    .run = session_history,
};
