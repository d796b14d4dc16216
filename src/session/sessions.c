/*
 * Collections of sessions: by name in a hash table, by age in a list.
 */
#include "session/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/session_life.h"

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
        .what = "sessions; close-session ends one",
    };
    all->processes = (struct quota){
        .parent = &host->processes,
        .most = options->most_processes,
        .holder = "You",
        .what = "processes, copies of sessions included; close-session ends some",
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

struct session *sessions_find(const struct sessions *all, const char *name)
{
    for (struct hash_node *node = hash_table_first(&all->by_name, hash_of(all, name)); node != NULL;
         node = hash_table_next(node)) {
        struct session *s = hash_table_entry(node, struct session, id.by_name);
        if (strcmp(s->id.name, name) == 0)
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
    if (!quota_take(&all->quota, err))
        return NULL;
    struct session *s = session_new(all, name);
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
    session_free(s);
}

void sessions_close_later(struct session *s)
{
    s->clock.close = sessions_close;
    session_later(s);
}

static struct session *session_at_node(const struct sessions *all, const struct list *node)
{
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
