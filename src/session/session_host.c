/*
 * Responsible for the state that all sessions of the server share.
 */
#include "session/session_host.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/random.h"
#include "proc/loop_handle.h"
#include "proc/orphans.h"
#include "session/core/actions.h"
#include "session/core/core.h"
#include "session/session.h"
#include "session/store/image_store.h"
#include "session/work/memory_watch.h"
#include "session/work/run.h"

#define MOST_KEPT_BYTES ((size_t)256 << 20) /* of outputs, for all owners together */

/* The functions behind the table of states. */
static session_action *const session_actions[SESSION_ACTION_COUNT] = {
#define X(name, file, effect) [ACTION_##name] = session_action_##name,
    SESSION_ACTIONS(X)
#undef X
};

static session_step *const session_steps[SESSION_STEP_COUNT] = {
#define X(name, state, file, effect) [STEP_##name] = session_step_##name,
    SESSION_STEPS(X)
#undef X
};

static const struct session_waits default_waits = {
    .step_ms = 1000,
    .progress_ms = 900, /* progress is promised at least once a second */
    .idle_ms = 1000,
    .hello_ms = 10000,
    .examine_ms = 500,
    .abort_ms = 2000,
    .standing_ms = 600000,
    .asking_ms = 600000,
    .patience_ms = 2000,
};

struct session_host *session_host_new(const struct session_host_options *options)
{
    struct session_host *host = xcalloc(1, sizeof *host);
    host->options = *options;
    host->actions = session_actions;
    host->steps = session_steps;
    host->limits = *options->limits;
    host->waits = options->waits != NULL ? *options->waits : default_waits;
    host->sessions = (struct quota){
        .most = options->most_sessions > 0 ? options->most_sessions : SESSION_HOST_MOST_SESSIONS,
        .holder = "The server",
        .what = "sessions (--max-sessions); reset-session with close: true ends one",
    };
    host->processes = (struct quota){
        .most = options->most_processes,
        .holder = "The server",
        .what = "processes, copies of sessions included (--max-processes); reset-session with close: true "
                "ends some",
    };
    output_budget_init(&host->outputs, NULL, MOST_KEPT_BYTES);
    list_init(&host->owners);
    list_init(&host->idle);
    host->started_at = uv_now(host->options.loop);
    host->image_store = image_store_new(options->image_directory);
    host->orphans = orphans_new(host->options.loop);
    host->idle_timer = loop_handle_timer(host->options.loop, host);
    host->memory_watch = memory_watch_new(host, (size_t)limits_int(&host->limits, LIMIT_MAX_MEMORY));
    host->seed = random_number();
    return host;
}

void session_host_plan_saves(struct session_host *host, size_t count)
{
    host->planned_saves = count;
}

static void for_each_session(const struct session_host *host, void (*function)(struct session *s))
{
    list_each(struct sessions, all, &host->owners, node)
        list_each(struct session, s, &all->all, id.node)
            function(s);
}

void session_host_limit_everything(struct session_host *host)
{
    host->is_everything_limited = true;
    for_each_session(host, run_limit);
}

static void stop_everything(struct session *s)
{
    struct session_evaluation e;
    struct strbuf what = {0};
    size_t n = 0;
    while (session_evaluation_at(s, n, &e))
        n++;
    /* The last first, so that none of those that wait begins. */
    while (n-- > 0)
        if (session_evaluation_at(s, n, &e))
            session_stop(s, e.number, &what);
    strbuf_fini(&what);
}

void session_host_stop_everything(struct session_host *host)
{
    for_each_session(host, stop_everything);
}

void session_host_free(struct session_host *host)
{
    if (host == NULL)
        return;
    CHECK(list_is_empty(&host->owners));
    image_store_free(host->image_store);
    loop_handle_free(host->idle_timer);
    memory_watch_free(host->memory_watch);
    orphans_free(host->orphans);
    free(host);
}
