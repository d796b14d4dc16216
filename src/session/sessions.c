/*
 * Collections of sessions: by name in a hash table, by age in a list. Responsible also for creating and
 * freeing a session with its parts.
 */
#include "session/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/confinement.h"
#include "proc/control_groups.h"
#include "proc/loop_handle.h"
#include "session/core/core.h"
#include "session/life/saving.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/session.h"
#include "session/store/leases.h"
#include "session/store/saved.h"
#include "session/work/answer.h"
#include "session/work/look_ups.h"
#include "session/work/memory_watch.h"

#define LONGEST_NAME 64
#define MOST_KEPT_BYTES ((size_t)64 << 20) /* of outputs, for each owner */

struct sessions *sessions_new(struct session_host *host, const struct sessions_options *options)
{
    struct sessions *all = xcalloc(1, sizeof *all);
    all->host = host;
    all->owner = xstrdup(options->owner == NULL ? "" : options->owner);
    all->store = options->store;
    all->quota = (struct quota){
        .parent = &host->sessions,
        .most = options->most_sessions,
        .holder = "You",
        .what = "sessions; reset-session with close: true ends one",
    };
    all->processes = (struct quota){
        .parent = &host->processes,
        .most = options->most_processes,
        .holder = "You",
        .what = "processes, copies of sessions included; reset-session with close: true ends some",
    };
    output_budget_init(&all->outputs, &host->outputs, MOST_KEPT_BYTES);
    hash_table_init(&all->by_name);
    list_init(&all->all);
    list_init(&all->watchers);
    list_init(&all->node);
    list_append(&host->owners, &all->node);
    return all;
}

void sessions_free(struct sessions *all)
{
    if (all == NULL)
        return;
    while (!list_is_empty(&all->all))
        sessions_close(list_entry(all->all.next, struct session, id.node));
    while (!list_is_empty(&all->watchers))
        list_remove(all->watchers.next);
    list_remove(&all->node);
    hash_table_fini(&all->by_name);
    free(all->owner);
    free(all);
}

/* Names come from outside: a secret seed prevents names that are chosen to collide. */
static uint64_t hash_of(const struct sessions *all, const char *name)
{
    return hash_text(name, all->host->seed);
}

/* sessions_close_later() was called: nobody meets it any more. */
static bool is_closing(const struct session *s)
{
    return s->clock.close != NULL;
}

struct session *sessions_find(const struct sessions *all, const char *name)
{
    for (struct hash_node *node = hash_table_first(&all->by_name, hash_of(all, name)); node != NULL;
         node = hash_table_next(node)) {
        struct session *s = hash_table_entry(node, struct session, id.by_name);
        if (strcmp(s->id.name, name) == 0 && !is_closing(s))
            return s;
    }
    return NULL;
}

bool sessions_is_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= LONGEST_NAME &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static void on_lost(void *arg)
{
    sessions_close_later(arg);
}

static void on_saved_for_another(void *arg, const struct outcome *outcome)
{
    struct session *s = outcome->session;
    if (s != NULL && outcome->kind == OUTCOME_OK && list_is_empty(&s->queue) && s->at == s->numbers.saved)
        sessions_close_later(s);
    else if (s != NULL && outcome->kind != OUTCOME_OK)
        log_warning("session %s was not given up: %s", s->id.name, outcome->why);
}

/* It is saved when what runs in it has ended. If it is used again before that is complete, it stays until it
 * is asked for once more. */
static void on_wanted(void *arg)
{
    struct session *s = arg;
    if (session_evaluations(s) == 0 && list_is_empty(&s->queue))
        sessions_close_later(s);
    else if (list_is_empty(&s->savings) && !s->flags.is_unrestored)
        session_request(s, OPERATION_SAVE, NULL, on_saved_for_another, NULL);
}

/* The only use of the name is this server's; ${*lease}: NULL if there is no other server. */
static bool take_lease(const struct sessions *all, const char *name, struct lease **lease, struct err *err)
{
    *lease = NULL;
    if (all->host->options.leases == NULL || all->store == NULL)
        return true;
    *lease = lease_take(all->host->options.leases, saved_store_directory(all->store), name, err);
    return *lease != NULL;
}

/* One that is in no list and not counted. */
static struct session *new_session(struct sessions *all, const char *name)
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

static void free_session(struct session *s)
{
    memory_watch_forget(s->host->memory_watch, s);
    looks_cancel(s);
    savings_cancel(s);
    process_forget(s);
    process_end_programs(s);
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
    free(s->place.joined.lost);
    free(s->package);
    free(s);
}

struct session *sessions_create(struct sessions *all, const char *name, struct err *err)
{
    char made_up[32];
    if (name == NULL) {
        do
            snprintf(made_up, sizeof made_up, "s%lu", ++all->made);
        while (sessions_find(all, made_up) != NULL);
        name = made_up;
    }
    if (!sessions_is_name(name)) {
        err_set(err, ERR_INVALID, "A session's name has 1 to %d characters from A-Z a-z 0-9 . _ and -.",
                LONGEST_NAME);
        return NULL;
    }
    if (sessions_find(all, name) != NULL) {
        err_set(err, ERR_BUSY, "A session named %s already exists.", name);
        return NULL;
    }
    struct lease *lease;
    if (!quota_take(&all->quota, err))
        return NULL;
    if (!take_lease(all, name, &lease, err)) {
        quota_give_back(&all->quota);
        return NULL;
    }
    struct session *s = new_session(all, name);
    s->id.lease = lease;
    if (lease != NULL)
        lease_watch(lease, on_lost, on_wanted, s);
    hash_table_add(&all->by_name, &s->id.by_name, hash_of(all, name));
    list_append(&all->all, &s->id.node);
    session_tell(s, SESSIONS_CAME);
    return s;
}

void sessions_close(struct session *s)
{
    struct sessions *all = s->all;
    list_remove(&s->id.node);
    hash_table_remove(&all->by_name, &s->id.by_name);
    quota_give_back(&all->quota);
    session_tell(s, SESSIONS_WENT);
    sessions_give_up(s);
    free_session(s);
}

bool sessions_are_elsewhere(const struct sessions *all, const char *name, struct err *err)
{
    return all->host->options.leases != NULL && all->store != NULL &&
           lease_is_elsewhere(all->host->options.leases, saved_store_directory(all->store), name, err);
}

bool sessions_confirm(struct session *s, struct err *err)
{
    return s->id.lease == NULL || lease_confirm(s->id.lease, err);
}

void sessions_give_up(struct session *s)
{
    lease_release(s->id.lease);
    s->id.lease = NULL;
}

void sessions_close_later(struct session *s)
{
    s->clock.close = sessions_close;
    session_later(s);
}

static struct session *session_at_node(const struct sessions *all, const struct list *node)
{
    while (node != &all->all && is_closing(list_entry(node, struct session, id.node)))
        node = node->next;
    return node == &all->all ? NULL : list_entry(node, struct session, id.node);
}

struct session *sessions_first(const struct sessions *all)
{
    return session_at_node(all, all->all.next);
}

struct session *sessions_next(const struct session *s)
{
    return session_at_node(s->all, s->id.node.next);
}

size_t sessions_count(const struct sessions *all)
{
    return all->quota.used;
}

void sessions_watch(struct sessions *all, struct sessions_watcher *w)
{
    list_init(&w->node);
    list_append(&all->watchers, &w->node);
}

void sessions_unwatch(struct sessions_watcher *w)
{
    list_remove(&w->node);
}

void sessions_tell_events(struct session *s)
{
    session_tell(s, SESSIONS_EVENTS);
}
