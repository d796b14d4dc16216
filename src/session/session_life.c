/*
 * Responsible for creating and freeing a session with its parts.
 */
#include "session/session_life.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lisp/confinement.h"
#include "proc/control_groups.h"
#include "proc/loop_handle.h"
#include "session/core/core.h"
#include "session/life/saving.h"
#include "session/process/process.h"
#include "session/process/programs.h"
#include "session/records/error_record.h"
#include "session/work/answer.h"
#include "session/work/look_ups.h"
#include "session/work/memory_watch.h"

session_action *const session_actions[SESSION_ACTION_COUNT] = {
#define X(name, file, effect) [ACTION_##name] = session_action_##name,
    SESSION_ACTIONS(X)
#undef X
};

struct session *session_new(struct sessions *all, const char *name)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->all = all;
    s->host = all->host;
    s->id.name = xstrdup(name);
    s->limits = s->host->limits;
    s->place.confinement = confinements_own(s->host->options.confinements);
    s->id.created_at = uv_now(s->host->options.loop);
    list_init(&s->id.node);
    list_init(&s->queue);
    list_init(&s->savings);
    list_init(&s->looks);
    list_init(&s->clock.idle_node);
    s->clock.timer = loop_handle_timer(s->host->options.loop, s);
    s->clock.later = loop_handle_timer(s->host->options.loop, s);
    s->clock.ticker = loop_handle_timer(s->host->options.loop, s);
    list_init(&s->process.request.node);
    session_output_init(&s->output, &all->outputs);
    list_init(&s->snapshots.all);
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
    stored_image_drop(&s->suspension.image);
    snapshots_clear(&s->snapshots, FACT_NONE);
    while (!list_is_empty(&s->queue))
        answer_unavailable(s, list_entry(s->queue.next, struct operation, node),
                           session_sentence(s, FACT_CLOSED));
    list_remove(&s->clock.idle_node);
    loop_handle_free(s->clock.timer);
    loop_handle_free(s->clock.later);
    loop_handle_free(s->clock.ticker);
    free(s->why);
    error_record_free(s->becoming.record);
    strbuf_fini(&s->becoming.failures);
    strbuf_fini(&s->run.progress);
    control_group_free(s->process.group);
    free(s->becoming.killer);
    free(s->becoming.severed);
    free(s->becoming.replaced);
    free(s->becoming.not_held);
    free(s->copies.why_not);
    journal_fini(&s->journal);
    error_history_clear(&s->errors);
    session_output_fini(&s->output);
    strbuf_fini(&s->told.tools);
    strbuf_fini(&s->told.scratch_tools);
    notices_clear(&s->told.notices);
    notices_clear(&s->place.joined.person);
    free(s->id.name);
    free(s->place.directory);
    free(s->place.joined.address);
    free(s->place.joined.directory);
    free(s->place.joined.doing);
    free(s->package);
    free(s);
}
