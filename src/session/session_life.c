/*
 * Responsible for creating and freeing a session with its parts.
 */
#include "session/session_life.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lisp/confinement.h"
#include "session/answer.h"
#include "session/copies.h"
#include "session/looks.h"
#include "session/memory_watch.h"
#include "session/process.h"
#include "session/programs.h"
#include "session/becoming.h"
#include "session/run.h"
#include "session/saving.h"
#include "session/session_core.h"
#include "session/suspension.h"

static session_action *const actions[SESSION_ACTION_COUNT] = {
#define X(name, file, effect) [ACTION_##name] = session_action_##name,
    SESSION_ACTIONS(X)
#undef X
};

struct session *session_new(struct sessions *all, const char *name)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->all = all;
    s->host = all->host;
    s->name = xstrdup(name);
    s->limits = s->host->limits;
    s->confinement = confinements_own(s->host->confinements);
    s->created_at = uv_now(s->host->loop);
    s->actions = actions;
    session_core_init(s);
    session_output_init(&s->output, &all->outputs);
    strbuf_init(&s->notice, (size_t)64 << 10);
    told_tools_init(&s->tools);
    told_tools_init(&s->scratch_tools);
    snapshots_init(&s->snapshots);
    journal_init(&s->journal);
    s->run = run_new(s);
    s->process = process_new();
    s->copies = copies_new();
    s->becoming = becoming_new();
    s->suspension = suspension_new();
    session_count(s, METRIC_SESSIONS_CREATED);
    return s;
}

void session_free(struct session *s)
{
    memory_watch_forget(s->host->memory_watch, s);
    looks_cancel(s);
    savings_cancel(s);
    process_forget(s);
    programs_end(s);
    stored_image_drop(&s->image);
    snapshots_clear(&s->snapshots, NULL);
    while (!list_is_empty(&s->queue))
        answer_unavailable(s, list_entry(s->queue.next, struct operation, node), "The session was closed.");
    session_core_fini(s);
    suspension_free(s->suspension);
    becoming_free(s->becoming);
    copies_free(s->copies);
    process_free(s->process);
    run_free(s->run);
    journal_fini(&s->journal);
    error_history_clear(&s->errors);
    session_output_fini(&s->output);
    told_tools_fini(&s->tools);
    told_tools_fini(&s->scratch_tools);
    strbuf_fini(&s->notice);
    free(s->name);
    free(s->package);
    free(s);
}
