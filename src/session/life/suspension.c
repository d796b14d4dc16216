/*
 * Responsible for suspending and resuming. An image cannot hold threads, running programs and earlier states,
 * so a session with threads, programs or a named checkpoint is not suspended.
 */
#include "session/life/suspension.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "proc/process.h"
#include "session/core/core.h"
#include "session/life/becoming.h"
#include "session/life/saving.h"
#include "session/process/process.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"

static bool may_suspend(const struct session *s)
{
    pid_t program;
    return s->place.joined.address == NULL && list_is_empty(&s->queue) && list_is_empty(&s->savings) &&
           worker_is_alive(s->worker) && !snapshots_have_named(&s->snapshots) &&
           process_programs(s, &program, 1) == 0;
}

static void on_stored(struct session *s, char *image);

static bool begin_image(struct session *s, struct err *err)
{
    char *image = image_store_prepare(s->host->image_store, err);
    return image != NULL && saving_start_suspension(s, image, on_stored, err);
}

/* Its image is complete, and it was not used since that was begun: end its processes. */
static void suspend(struct session *s)
{
    s->suspension.image.directory = process_directory(session_core_pid(s));
    clock_gettime(CLOCK_REALTIME, &s->suspension.image.since);
    snapshots_clear(&s->snapshots, FACT_SUSPENDED);
    process_forget(s);
    session_count(s, METRIC_SUSPENDED);
    session_enter_state(s, SESSION_SUSPENDED, 0);
}

static void begin(struct session *s)
{
    struct err err = {0};
    if (!may_suspend(s))
        return;
    if (s->suspension.image.path != NULL) {
        suspend(s);
        return;
    }
    if (!begin_image(s, &err)) {
        log_warning("session %s was not suspended: %s", s->id.name, err.message);
        return;
    }
    s->host->suspending = s;
    s->suspension.uses = s->clock.uses;
    s->suspension.pid = session_core_pid(s);
    copies_await(s, COPY_MS, STEP_rest);
}

static bool was_used(const struct session *s)
{
    return s->clock.uses != s->suspension.uses || session_core_pid(s) != s->suspension.pid;
}

/* The image, a path, is complete: taken; NULL: it could not be made. */
static void on_stored(struct session *s, char *image)
{
    if (image != NULL && s->state == SESSION_IDLE && !was_used(s)) {
        s->suspension.image.path = image;
        session_dispatch(s, &(struct event){.kind = EVENT_DEADLINE, .is_unused = true});
        if (s->state != SESSION_SUSPENDED)
            stored_image_drop(&s->suspension.image);
    } else if (image != NULL) {
        unlink(image);
        free(image);
    }
    if (s->state != SESSION_SUSPENDED)
        log_info("session %s was not suspended", s->id.name);
}

/* The session has been idle for a while. */
void session_action_rest(struct session *s, struct event *e)
{
    if (!checkpointing_tidy(s) && e->is_unused)
        begin(s);
}

static bool start_image(struct session *s, struct err *err)
{
    bool is_started = process_start_image(s, s->suspension.image.path, s->suspension.image.directory, 0, err);
    if (!is_started && s->suspension.image.directory != NULL && err->code != ERR_LIMIT)
        is_started = process_start_image(s, s->suspension.image.path, NULL, 0,
                                         err); /* its directory no longer exists */
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
    session_count(s, METRIC_RESUMED);
    becoming_image(s, START_RESUME);
}

/* Answer the waiting operations; the image stays for another attempt. */
void session_action_refuse_all(struct session *s, struct event *e)
{
    char *why = s->why;
    s->why = NULL;
    answer_all_waiting(s, why);
    free(why);
}
