/*
 * Sleep: a session that nobody has used for a while is saved to an image and its processes end; when it is
 * next used it comes back from the image. One session at a time falls asleep, since to save one takes a
 * processor for some seconds.
 *
 * What can only live in a process stays behind: open files, earlier states, errors to enter. So a session
 * stays awake that has threads or programs running, or a checkpoint that somebody gave a name.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "proc/process.h"
#include "proc/tree.h"
#include "session/sleep_store.h"
#include "session/session_internal.h"

#define FREEZE_MS 30000 /* for copying the process */
#define WAKE_MS 20000   /* for an image to start */

static void arm(struct session_host *host);

static void on_due(uv_timer_t *timer)
{
    struct session_host *host = timer->data;
    if (!list_is_empty(&host->idle) && host->suspending == NULL) {
        struct session *s = list_entry(host->idle.next, struct session, idle_node);
        if (s->idle_since + host->idle_timeout_ms <= uv_now(host->loop)) {
            list_remove(&s->idle_node);
            session_dispatch(s, &(struct event){.kind = EVENT_UNUSED});
        }
    }
    arm(host);
}

/* For the one that has rested longest. */
static void arm(struct session_host *host)
{
    if (host->suspending != NULL || list_is_empty(&host->idle) || uv_is_active((uv_handle_t *)host->sleeper))
        return;
    uint64_t due = list_entry(host->idle.next, struct session, idle_node)->idle_since + host->idle_timeout_ms,
             now = uv_now(host->loop);
    uv_timer_start(host->sleeper, on_due, due > now ? due - now : 0, 0);
}

void session_note_idle(struct session *s)
{
    if (s->host->idle_timeout_ms == 0)
        return;
    list_remove(&s->idle_node);
    list_append(&s->host->idle, &s->idle_node);
    s->idle_since = uv_now(s->host->loop);
    arm(s->host);
}

void session_note_activity(struct session *s)
{
    list_remove(&s->idle_node);
}

void session_suspend_is_over(struct session_host *host)
{
    host->suspending = NULL;
    arm(host);
}

static bool has_named_checkpoint(const struct session *s)
{
    for (struct list *node = s->checkpoints.all.next; node != &s->checkpoints.all; node = node->next)
        if (list_entry(node, struct checkpoint, node)->name != NULL)
            return true;
    return false;
}

static bool may_sleep(const struct session *s)
{
    pid_t program;
    return list_is_empty(&s->queue) && list_is_empty(&s->savings) && worker_is_alive(s->worker) &&
           !has_named_checkpoint(s) && tree_children(session_pid(s), &program, 1) == 0;
}

static bool begin_image(struct session *s, struct err *err)
{
    char *image = sleep_store_prepare(s->host->sleep_store, err);
    return image != NULL && saving_start_for_sleep(s, image, err);
}

void session_action_suspend(struct session *s, struct event *e)
{
    (void)e;
    struct err err = {0};
    if (!may_sleep(s))
        return;
    /* At the bound of processes its own old states, which go when it sleeps, make room for the copy that
     * writes the image. */
    bool is_begun;
    do
        is_begun = begin_image(s, &err);
    while (!is_begun && err.code == ERR_LIMIT && session_drop_oldest_checkpoint(s));
    if (!is_begun) {
        log_warning("session %s stays awake: %s", s->name, err.message);
        return;
    }
    s->host->suspending = s;
    s->uses_at_image = s->uses;
    s->image_pid = session_pid(s);
    session_enter_state(s, SESSION_CHECKPOINTING, FREEZE_MS);
}

static void drop(char *image)
{
    if (image != NULL)
        unlink(image);
    free(image);
}

void session_action_stay_awake(struct session *s, struct event *e)
{
    log_info("session %s stays awake", s->name);
    drop(e->image);
}

/* Errors keep their text. */
static void drop_error_copies(struct session *s)
{
    for (size_t i = 0; i < HISTORY; i++) {
        struct error_record *r = s->history[i];
        if (r == NULL || r->frozen == NULL)
            continue;
        error_record_drop_copy(r);
        if (r->why_not_frozen == NULL)
            r->why_not_frozen = xstrdup("The session has been asleep since.");
    }
}

void session_action_fall_asleep(struct session *s, struct event *e)
{
    bool was_used =
        s->uses != s->uses_at_image || session_pid(s) != s->image_pid || !list_is_empty(&s->queue);
    if (was_used || e->image == NULL || !may_sleep(s)) {
        session_action_stay_awake(s, e);
        return;
    }
    s->image = e->image;
    s->image_directory = process_directory(session_pid(s));
    clock_gettime(CLOCK_REALTIME, &s->asleep_since);
    drop_error_copies(s);
    checkpoints_clear(&s->checkpoints);
    session_forget_process(s);
    session_count(s, METRIC_FELL_ASLEEP);
    session_enter_state(s, SESSION_ASLEEP, 0);
}

void session_forget_image(struct session *s)
{
    drop(s->image);
    free(s->image_directory);
    s->image = s->image_directory = NULL;
    s->is_waking = false;
}

void session_action_wake(struct session *s, struct event *e)
{
    (void)e;
    session_proceed(s);
}

static struct worker *start_image(struct session *s, const char *directory, struct err *err)
{
    struct worker_events events = session_process_events(s);
    return zygotes_start_image(s->host->zygotes, s->heap_mib, &s->all->processes, s->image, directory,
                               &events, err);
}

void session_wake(struct session *s)
{
    struct err err;
    do
        s->worker = start_image(s, s->image_directory, &err);
    while (s->worker == NULL && err.code == ERR_LIMIT && session_evict_for_process(s));
    if (s->worker == NULL && s->image_directory != NULL && err.code != ERR_LIMIT)
        s->worker = start_image(s, NULL, &err); /* the directory is gone */
    if (s->worker == NULL) {
        free(s->why);
        s->why = xstrdup(err.message);
        session_later(s);
        return;
    }
    free(s->why);
    s->why = NULL;
    s->is_waking = s->was_idle = true;
    session_begin_return(s, true);
    s->best = 0;
    session_count(s, METRIC_WOKEN);
    session_enter_state(s, SESSION_CHECKING, WAKE_MS);
}

/* Those that wait are answered; the image stays for another attempt. */
void session_action_stay_asleep(struct session *s, struct event *e)
{
    (void)e;
    char *why = s->why;
    s->why = NULL;
    session_give_up_waiting(s, why);
    free(why);
}

const struct timespec *session_asleep_since(const struct session *s)
{
    return s->state == SESSION_ASLEEP ? &s->asleep_since : NULL;
}

void session_say_awake(const struct session *s, struct strbuf *out)
{
    struct tm utc;
    char when[32];
    gmtime_r(&s->asleep_since.tv_sec, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    strbuf_addf(out,
                "The session had been asleep since %s, because nobody had used it for %.10g s. Definitions, "
                "variables and history are as they were; open files and sockets are closed, and earlier "
                "states and errors can no longer be entered.",
                when, (double)s->host->idle_timeout_ms / 1000);
}
