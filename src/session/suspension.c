/*
 * Responsible for suspending and resuming. An image cannot hold threads, running programs and earlier states,
 * so a session with threads, programs or a named checkpoint is not suspended.
 */
#include "session/suspension.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "proc/process.h"
#include "session/answer.h"
#include "session/copies.h"
#include "session/eviction.h"
#include "session/process.h"
#include "session/programs.h"
#include "session/recovery.h"
#include "session/saving.h"
#include "session/session_core.h"

#define RESUME_MS 20000 /* for an image to start */

/* The session's figures when the image was begun. */
struct suspension {
    uint64_t uses;
    pid_t pid;
};

struct suspension *suspension_new(void)
{
    return xcalloc(1, sizeof(struct suspension));
}

void suspension_free(struct suspension *p)
{
    free(p);
}

static bool may_suspend(const struct session *s)
{
    pid_t program;
    return list_is_empty(&s->queue) && list_is_empty(&s->savings) && worker_is_alive(s->worker) &&
           !checkpoints_have_named(&s->checkpoints) && programs_list(s, &program, 1) == 0;
}

static bool begin_image(struct session *s, struct err *err)
{
    char *image = image_store_prepare(s->host->image_store, err);
    return image != NULL && saving_start_suspension(s, image, err);
}

/* At the process limit, drop the session's own old checkpoints, which end with its suspension anyway, so
 * that the copy that writes the image has room. */
static bool begin_image_with_room(struct session *s, struct err *err)
{
    bool is_begun;
    do
        is_begun = begin_image(s, err);
    while (!is_begun && err->code == ERR_LIMIT && checkpoints_evict_oldest(&s->checkpoints));
    return is_begun;
}

void session_action_suspend(struct session *s, struct event *e)
{
    struct err err = {0};
    if (!may_suspend(s))
        return;
    if (!begin_image_with_room(s, &err)) {
        log_warning("session %s was not suspended: %s", s->name, err.message);
        return;
    }
    s->host->suspending = s;
    s->suspension->uses = s->uses;
    s->suspension->pid = session_core_pid(s);
    session_enter_state(s, SESSION_CHECKPOINTING, COPY_MS);
}

void session_action_discard_image(struct session *s, struct event *e)
{
    log_info("session %s was not suspended", s->name);
    if (e->image != NULL)
        unlink(e->image);
    free(e->image);
}

static bool was_used(const struct session *s)
{
    return s->uses != s->suspension->uses || session_core_pid(s) != s->suspension->pid;
}

void session_action_suspended(struct session *s, struct event *e)
{
    if (was_used(s) || e->image == NULL || !may_suspend(s)) {
        session_action_discard_image(s, e);
        return;
    }
    s->image.path = e->image;
    s->image.directory = process_directory(session_core_pid(s));
    clock_gettime(CLOCK_REALTIME, &s->image.since);
    error_history_drop_copies(&s->errors, "The session was suspended meanwhile.");
    checkpoints_clear(&s->checkpoints);
    process_forget(s);
    session_count(s, METRIC_SUSPENDED);
    session_enter_state(s, SESSION_SUSPENDED, 0);
}

static bool start_image(struct session *s, struct err *err)
{
    bool is_started;
    do
        is_started = process_start_image(s, s->image.path, s->image.directory, 0, err);
    while (!is_started && err->code == ERR_LIMIT && eviction_for_process(s));
    if (!is_started && s->image.directory != NULL && err->code != ERR_LIMIT)
        is_started = process_start_image(s, s->image.path, NULL, 0, err); /* its directory no longer exists */
    return is_started;
}

void suspension_resume(struct session *s)
{
    struct err err;
    bool is_started = start_image(s, &err);
    free(s->why);
    s->why = is_started ? NULL : xstrdup(err.message);
    if (!is_started) {
        session_later(s);
        return;
    }
    recovery_begin(s, RECOVERY_RESUME);
    session_count(s, METRIC_RESUMED);
    session_enter_state(s, SESSION_RESUMING, RESUME_MS);
}

/* Answer the waiting operations; the image stays for another attempt. */
void session_action_refuse_all(struct session *s, struct event *e)
{
    (void)e;
    char *why = s->why;
    s->why = NULL;
    answer_all_waiting(s, why);
    free(why);
}
