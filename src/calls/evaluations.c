/*
 * The collection of evaluations that outlive their calls.
 */
#include "calls/evaluations.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/session.h"
#include "session/sessions.h"

struct evaluations {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct list list; /* of struct evaluation, the newest first */
    size_t ended;
    struct sessions_watcher watcher;
};

static void drop(struct evaluation *e)
{
    list_remove(&e->node);
    e->all->ended -= e->has_ended;
    strbuf_fini(&e->text);
    json_decref(e->structured);
    free(e->session);
    free(e->what);
    free(e);
}

static void drop_of_session(struct evaluations *all, const char *session)
{
    list_each(struct evaluation, e, &all->list, node)
        if (e->has_ended && strcmp(e->session, session) == 0)
            drop(e);
}

static void on_news(void *arg, struct session *s, enum sessions_news news)
{
    /* It begins with evaluation 1 again, as a new session of that name does. */
    if (news == SESSIONS_CAME || news == SESSIONS_WENT || news == SESSIONS_CLEARED)
        drop_of_session(arg, session_name(s));
}

struct evaluations *evaluations_new(uv_loop_t *loop, struct sessions *sessions)
{
    struct evaluations *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    all->sessions = sessions;
    list_init(&all->list);
    list_init(&all->watcher.node);
    all->watcher.on_news = on_news;
    all->watcher.arg = all;
    sessions_watch(sessions, &all->watcher);
    return all;
}

void evaluations_free(struct evaluations *all)
{
    if (all == NULL)
        return;
    while (!list_is_empty(&all->list))
        drop(list_entry(all->list.next, struct evaluation, node));
    free(all);
}

uv_loop_t *evaluations_loop(const struct evaluations *all)
{
    return all->loop;
}

static void put_first(struct evaluation *e)
{
    list_remove(&e->node);
    list_append(e->all->list.next, &e->node);
}

struct evaluation *evaluations_add(struct evaluations *all, const struct session *session,
                                   const struct session_evaluation *e)
{
    struct evaluation *kept = xcalloc(1, sizeof *kept);
    kept->all = all;
    kept->session = xstrdup(session_name(session));
    kept->what = xstrdup(e->what);
    kept->number = e->number;
    kept->began_ms = uv_now(all->loop) - (uint64_t)(e->elapsed_s * 1000);
    list_init(&kept->node);
    put_first(kept);
    return kept;
}

static void drop_oldest(struct evaluations *all)
{
    for (struct list *node = all->list.previous; node != &all->list; node = node->previous) {
        struct evaluation *e = list_entry(node, struct evaluation, node);
        if (e->has_ended) {
            drop(e);
            return;
        }
    }
}

/* The next reply of its session reports this. */
static void add_notice(const struct evaluation *e)
{
    struct session *s = sessions_find(e->all->sessions, e->session);
    if (s != NULL)
        notices_add(session_notices(s), FACT(FACT_ENDED, .texts = {e->is_error ? " with an error" : ""},
                                             .numbers = {e->number}, .seconds = e->took_s));
}

void evaluations_tell_less(struct session *session, uint64_t number)
{
    notices_remove(session_notices(session), FACT_ENDED, number);
}

void evaluations_on_done(void *arg, const struct tool_result *result)
{
    struct evaluation *e = arg;
    e->is_error = result->is_error;
    e->structured = json_incref(result->structured);
    e->took_s = (double)(uv_now(e->all->loop) - e->began_ms) / 1000.0;
    strbuf_add(&e->text, result->text->bytes, result->text->len);
    e->has_ended = true;
    put_first(e); /* those that ended last are kept longest */
    add_notice(e);
    if (++e->all->ended > EVALUATIONS_KEPT)
        drop_oldest(e->all);
}

struct evaluation *evaluations_find(struct evaluations *all, const char *session, uint64_t number)
{
    list_each(struct evaluation, e, &all->list, node)
        if (strcmp(e->session, session) == 0 && (number == 0 || e->number == number))
            return e;
    return NULL;
}

struct evaluation *evaluations_at(struct evaluations *all, size_t n)
{
    list_each(struct evaluation, e, &all->list, node)
        if (n-- == 0)
            return e;
    return NULL;
}
