/*
 * Responsible for making toolboxes and for saving their sessions at the end.
 */
#include "app/toolboxes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "calls/evaluations.h"
#include "calls/other_clients.h"
#include "calls/toolbox.h"
#include "events/events.h"
#include "http/http_session.h"
#include "mcp/tasks.h"
#include "proc/loop_handle.h"
#include "session/session.h"
#include "session/session_host.h"
#include "session/sessions.h"
#include "session/store/saved.h"

struct owned {
    struct list node;
    char *owner;
    struct saved_store *store;
    struct toolbox toolbox;
};

/* Each save is a process that holds a whole image while it writes. */
#define SAVES_AT_ONCE 4

/* An HTTP session cannot be continued after a restart, so its private session is rarely requested again. Of
 * these saves the newest are kept. */
#define MOST_HTTP_SAVES 32
#define MOST_HTTP_SAVES_AGE_S (30 * 24 * 3600)

/* In ${planned_saves} until it begins; in no list after that. */
struct planned_save {
    struct list node;
    struct toolboxes *toolboxes;
    struct owned *owner;
    char *name;
    bool is_periodic; /* the session continues */
};

struct toolboxes {
    struct toolboxes_options options;
    struct list all;
    struct list planned_saves;
    size_t planned, saves; /* how many are planned, and in progress */
    uv_timer_t *timer;     /* --save-every; NULL: no saves while the server runs */
    bool is_ending;
    void (*on_saved)(void *arg); /* NULL until toolboxes_save() */
    void *arg;
};

static void on_save_time(uv_timer_t *timer);

struct toolboxes *toolboxes_new(const struct toolboxes_options *options)
{
    struct toolboxes *t = xcalloc(1, sizeof *t);
    t->options = *options;
    list_init(&t->all);
    list_init(&t->planned_saves);
    if (options->save_every_s > 0) {
        t->timer = loop_handle_timer(options->loop, t);
        uv_timer_start(t->timer, on_save_time, options->save_every_s * 1000, options->save_every_s * 1000);
    }
    return t;
}

static void owned_free(struct owned *o)
{
    list_remove(&o->node);
    sessions_free(o->toolbox.sessions);
    evaluations_free(o->toolbox.evaluations);
    events_free(o->toolbox.events);
    other_clients_free(o->toolbox.other_clients);
    tasks_free(o->toolbox.tasks);
    saved_store_free(o->store);
    free(o->owner);
    free(o);
}

static void planned_save_free(struct planned_save *p)
{
    list_remove(&p->node);
    free(p->name);
    free(p);
}

static struct saved_store *open_store(const struct toolboxes_options *options, const char *owner)
{
    if (options->state_directory == NULL)
        return NULL;
    size_t given_len = strlen(options->state_directory);
    if (owner[0] == '\0')
        return saved_store_new(options->state_directory, given_len, options->loop);
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%.3900s/principals/%s", options->state_directory, owner);
    return saved_store_new(directory, given_len, options->loop);
}

/* The owner "" is the server's only one: the per-principal limits do not apply. */
static struct sessions *open_sessions(const struct toolboxes_options *options, const char *owner,
                                      struct saved_store *store)
{
    bool is_principal = owner[0] != '\0';
    return sessions_new(options->host, &(struct sessions_options){
                                           .owner = is_principal ? owner : NULL,
                                           .store = store,
                                           .most_sessions = is_principal ? options->most_sessions : 0,
                                           .most_processes = is_principal ? options->most_processes : 0,
                                       });
}

struct toolbox *toolboxes_get(struct toolboxes *t, const char *owner)
{
    list_each(struct owned, o, &t->all, node)
        if (strcmp(o->owner, owner) == 0)
            return &o->toolbox;
    struct owned *made = xcalloc(1, sizeof *made);
    made->owner = xstrdup(owner);
    made->store = open_store(&t->options, owner);
    made->toolbox = t->options.common;
    made->toolbox.sessions = open_sessions(&t->options, owner, made->store);
    made->toolbox.store = made->store;
    made->toolbox.owner = made->owner;
    made->toolbox.is_persistent = t->options.common.is_persistent && made->store != NULL;
    made->toolbox.loop = t->options.loop;
    made->toolbox.tasks = tasks_new(t->options.loop);
    made->toolbox.other_clients = other_clients_new();
    made->toolbox.evaluations = evaluations_new(t->options.loop, made->toolbox.sessions);
    made->toolbox.events = events_new(t->options.loop, made->toolbox.sessions, t->options.common.redacts);
    list_init(&made->node);
    list_append(&t->all, &made->node);
    return &made->toolbox;
}

#define KEEPS_SAVE "its earlier save could not be restored and was left unchanged"

#define CUT_SHORT "The server was told a second time to end, before the session was saved."

/* Whether its earlier save, from which it could not begin, is still there. */
static bool keeps_save(const struct owned *o, const struct session *s)
{
    return session_is_unrestored(s) && saved_exists(o->store, session_name(s));
}

static bool has_state_to_save(const struct owned *o, const struct session *s)
{
    return o->toolbox.is_persistent && session_evaluations(s) > 0 && session_attached(s) == NULL;
}

static void for_each_session(struct toolboxes *t,
                             void (*function)(struct toolboxes *t, struct owned *o, struct session *s))
{
    list_each(struct owned, o, &t->all, node)
        for (struct session *s = sessions_first(o->toolbox.sessions); s != NULL; s = sessions_next(s))
            function(t, o, s);
}

static void announce(struct toolboxes *t, struct owned *o, struct session *s)
{
    if (has_state_to_save(o, s) && !keeps_save(o, s))
        saved_announce(o->store, session_name(s));
}

void toolboxes_announce(struct toolboxes *t)
{
    for_each_session(t, announce);
}

/* The client that was connected cannot be told any more; the session tells the next one. */
static void note_loss(const struct owned *o, const struct session *s, const char *why)
{
    if (http_session_names(session_name(s)))
        return;
    struct strbuf text = {0};
    strbuf_addf(&text,
                "When the server ended at %s, session %s, the state after evaluation %llu, was lost. %s",
                text_date(time(NULL)).text, session_name(s), (unsigned long long)session_at(s), why);
    saved_note_loss(o->store, session_name(s), strbuf_string(&text));
    strbuf_fini(&text);
}

static void add_planned_save(struct toolboxes *t, struct owned *o, const struct session *s)
{
    struct planned_save *p = xcalloc(1, sizeof *p);
    p->toolboxes = t;
    p->owner = o;
    p->name = xstrdup(session_name(s));
    p->is_periodic = t->on_saved == NULL;
    list_init(&p->node);
    list_append(&t->planned_saves, &p->node);
    session_host_plan_saves(t->options.host, ++t->planned);
}

static void plan_save(struct toolboxes *t, struct owned *o, struct session *s)
{
    if (!has_state_to_save(o, s)) {
        sessions_give_up(s);
        return;
    }
    if (keeps_save(o, s)) {
        log_error("session %s was not saved: " KEEPS_SAVE, session_name(s));
        note_loss(o, s, "It was not saved: " KEEPS_SAVE ".");
        return;
    }
    add_planned_save(t, o, s);
}

static void plan_periodic_save(struct toolboxes *t, struct owned *o, struct session *s)
{
    if (has_state_to_save(o, s) && session_wants_save(s) && !keeps_save(o, s))
        add_planned_save(t, o, s);
}

static void on_saved(void *arg, const struct outcome *outcome);

static void trim_saves(struct toolboxes *t)
{
    list_each(struct owned, o, &t->all, node)
        if (o->toolbox.is_persistent)
            saved_trim(o->store, http_session_names, MOST_HTTP_SAVES, MOST_HTTP_SAVES_AGE_S);
}

static void save_more(struct toolboxes *t)
{
    while (t->saves < SAVES_AT_ONCE && !list_is_empty(&t->planned_saves)) {
        struct planned_save *p = list_entry(t->planned_saves.next, struct planned_save, node);
        struct session *s = sessions_find(p->owner->toolbox.sessions, p->name);
        list_remove(&p->node);
        session_host_plan_saves(t->options.host, --t->planned);
        if (s == NULL) {
            planned_save_free(p); /* closed in the meantime */
            continue;
        }
        t->saves++;
        session_request(s, OPERATION_SAVE, NULL, on_saved, p);
    }
    if (t->saves > 0 || t->on_saved == NULL)
        return;
    trim_saves(t);
    t->on_saved(t->arg);
}

/* A round that takes longer than its time is followed by the next one after that. */
static void on_save_time(uv_timer_t *timer)
{
    struct toolboxes *t = timer->data;
    if (t->on_saved != NULL || t->saves > 0 || !list_is_empty(&t->planned_saves))
        return;
    for_each_session(t, plan_periodic_save);
    save_more(t);
}

static void on_saved(void *arg, const struct outcome *outcome)
{
    struct planned_save *p = arg;
    struct toolboxes *t = p->toolboxes;
    if (outcome->kind != OUTCOME_OK && p->is_periodic) {
        log_warning("session %s was not saved now: %s", p->name, outcome->why);
    } else if (outcome->kind != OUTCOME_OK) {
        log_error("%s", outcome->why);
        /* A session that is being closed is found by its name no more. */
        if (outcome->session != NULL)
            note_loss(p->owner, outcome->session, t->is_ending ? CUT_SHORT : outcome->why);
        saved_withdraw(p->owner->store, p->name);
    } else if (outcome->session != NULL && !p->is_periodic) {
        sessions_give_up(outcome->session);
    }
    planned_save_free(p);
    t->saves--;
    save_more(t);
}

void toolboxes_save(struct toolboxes *t, void (*done)(void *arg), void *arg)
{
    t->on_saved = done;
    t->arg = arg;
    while (!list_is_empty(&t->planned_saves)) /* --save-every */
        planned_save_free(list_entry(t->planned_saves.next, struct planned_save, node));
    for_each_session(t, plan_save);
    save_more(t);
}

/* A second signal ended the server before the planned saves had begun. */
static void give_up(struct planned_save *p)
{
    const struct session *s = sessions_find(p->owner->toolbox.sessions, p->name);
    if (s != NULL)
        note_loss(p->owner, s, CUT_SHORT);
    planned_save_free(p);
}

void toolboxes_free(struct toolboxes *t)
{
    if (t == NULL)
        return;
    t->is_ending = true;
    loop_handle_free(t->timer);
    while (!list_is_empty(&t->planned_saves))
        give_up(list_entry(t->planned_saves.next, struct planned_save, node));
    while (!list_is_empty(&t->all))
        owned_free(list_entry(t->all.next, struct owned, node));
    free(t);
}
