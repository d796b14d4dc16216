/*
 * The zygote's life. What the user asks to load may exit, loop, crash or start threads. A step that fails so
 * affects no other (warm_steps.c): the zygote is started again without it, and a notice reports it.
 */
#include "lisp/zygote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "lisp/confinement.h"
#include "lisp/core.h"
#include "lisp/warm_steps.h"
#include "proc/cpu_grace.h"
#include "proc/loop_handle.h"
#include "proc/spawn.h"

enum zygote_state {
    ZYGOTE_ABSENT,      /* no process; the next request starts one */
    ZYGOTE_BUILDING,    /* the core is being built */
    ZYGOTE_STARTING,    /* the process was started; its hello has not come */
    ZYGOTE_CONFIGURING, /* configure was sent */
    ZYGOTE_WARMING,     /* one of the warm steps was sent */
    ZYGOTE_READY,
    ZYGOTE_FORKING, /* fork was sent */
};

#define START_LIMIT_MS 20000
#define FORK_LIMIT_MS 10000
#define OUTPUT_KEPT 2000 /* bytes of a step's output, shown in a notice */

struct zygote {
    uv_loop_t *loop;
    struct children *children;
    struct zygote_options options;
    enum zygote_state state;
    char *lisp_path; /* NULL until found */
    char *core;
    bool is_core_fresh; /* built by this server: building it again is useless */
    struct strbuf end;  /* how the Lisp ended that was started from the core before that was built again */
    struct core_build *build;
    struct worker *worker; /* NULL in ABSENT and BUILDING */
    uv_timer_t *deadline;
    struct cpu_grace grace; /* of the deadline */
    struct list waiting;    /* of struct zygote_request */
    struct warm_steps steps;
    struct strbuf output; /* what the current step has printed */
    struct strbuf notices;
    struct strbuf why;
    struct strbuf lisp;
};

static const char *const state_names[] = {
    [ZYGOTE_ABSENT] = "absent",        [ZYGOTE_BUILDING] = "building its core",
    [ZYGOTE_STARTING] = "starting",    [ZYGOTE_CONFIGURING] = "being configured",
    [ZYGOTE_WARMING] = "loading",      [ZYGOTE_READY] = "ready",
    [ZYGOTE_FORKING] = "being copied",
};

static void start(struct zygote *z);
static void serve(struct zygote *z);

static void on_deadline(uv_timer_t *timer)
{
    struct zygote *z = timer->data;
    int more_ms = z->worker != NULL ? cpu_grace_more_ms(&z->grace, worker_pid(z->worker)) : 0;
    if (more_ms > 0) {
        uv_timer_start(timer, on_deadline, (uint64_t)more_ms, 0);
        return;
    }
    log_warning("the zygote did not answer in time while %s", state_names[z->state]);
    if (z->worker != NULL)
        worker_kill(z->worker);
}

static void set_deadline(struct zygote *z, int limit_ms)
{
    cpu_grace_begin(&z->grace, limit_ms, worker_pid(z->worker));
    uv_timer_start(z->deadline, on_deadline, (uint64_t)limit_ms, 0);
}

/* Fail all waiting requests; the next one starts anew. */
static void fail(struct zygote *z, const char *sentence)
{
    z->state = ZYGOTE_ABSENT;
    uv_timer_stop(z->deadline);
    strbuf_clear(&z->why);
    strbuf_adds(&z->why, sentence);
    struct err err;
    err_set(&err, ERR_START, "%s", sentence);
    while (!list_is_empty(&z->waiting)) {
        struct zygote_request *r = list_entry(z->waiting.next, struct zygote_request, node);
        list_remove(&r->node);
        r->on_failed(r->arg, &err);
    }
}

static void notice(struct zygote *z, const char *bytes, size_t len)
{
    utf8_repair(&z->notices, bytes, len);
    strbuf_addc(&z->notices, '\n');
}

/* The user needs what a step printed, and looks for it in the first reply. */
static void notice_output(struct zygote *z)
{
    if (z->output.len == 0)
        return;
    bool is_cut = z->output.is_overflown;
    while (z->output.len > 0 && z->output.bytes[z->output.len - 1] == '\n')
        z->output.bytes[--z->output.len] = '\0';
    warm_steps_name_output(&z->steps, &z->notices);
    notice(z, z->output.bytes, z->output.len);
    if (is_cut)
        strbuf_adds(&z->notices, "(cut)\n");
    strbuf_clear(&z->output);
}

static void call(struct zygote *z, const struct strbuf *request, int limit_ms)
{
    worker_call(z->worker, request, NULL, 0);
    set_deadline(z, limit_ms);
}

/* Send the next step that has something to do; without one, be ready. */
static void warm(struct zygote *z)
{
    struct strbuf request = {0};
    int limit_ms;
    bool is_warming = warm_steps_write(&z->steps, &request, &limit_ms);
    if (is_warming) {
        z->state = ZYGOTE_WARMING;
        bool has_own_limit = warm_steps_is_init(&z->steps) && z->options.user_init_limit_ms > 0;
        call(z, &request, has_own_limit ? z->options.user_init_limit_ms : cpu_grace_stretched(limit_ms));
    }
    strbuf_fini(&request);
    if (is_warming)
        return;
    z->state = ZYGOTE_READY;
    uv_timer_stop(z->deadline);
    serve(z);
}

void zygote_configure_request(const struct zygote *z, bool says_directory, const char *directory,
                              struct strbuf *out)
{
    char current[4096];
    const char *where = directory != NULL ? directory : z->options.directory;
    if (where == NULL && says_directory)
        where = getcwd(current, sizeof current);
    sexp_write_symbol(out, "configure");
    sexp_write_symbol(out, "server-pid");
    sexp_write_integer(out, getpid());
    if (where != NULL && says_directory) {
        sexp_write_symbol(out, "directory");
        sexp_write_string(out, where, strlen(where));
    }
}

static void on_ready(void *arg, const struct sexp *hello)
{
    struct zygote *z = arg;
    strbuf_clear(&z->lisp);
    const char *name = sexp_string(sexp_get(hello, 2, "implementation"), NULL);
    const char *version = sexp_string(sexp_get(hello, 2, "version"), NULL);
    strbuf_addf(&z->lisp, "%s %s", name == NULL ? "?" : name, version == NULL ? "?" : version);
    struct strbuf request = {0};
    zygote_configure_request(z, true, NULL, &request);
    z->state = ZYGOTE_CONFIGURING;
    call(z, &request, cpu_grace_stretched(START_LIMIT_MS));
    strbuf_fini(&request);
}

static void take_notices(struct zygote *z, const struct sexp *notices)
{
    for (size_t i = 0; i < sexp_count(notices); i++) {
        size_t len;
        const char *text = sexp_string(sexp_nth(notices, i), &len);
        if (text != NULL)
            notice(z, text, len);
    }
}

static void restart(struct zygote *z)
{
    worker_free(z->worker);
    z->worker = NULL;
    start(z);
}

static void take_reply(struct zygote *z, const struct sexp *reply)
{
    bool ok = sexp_is_symbol(sexp_nth(reply, 1), "ok");
    switch (z->state) {
    case ZYGOTE_CONFIGURING:
        z->steps.at = 0;
        warm(z);
        break;
    case ZYGOTE_WARMING:
        take_notices(z, sexp_get(reply, 2, "notices"));
        notice_output(z);
        if (ok && sexp_is_nil(sexp_get(reply, 2, "forkable"))) {
            warm_steps_leave_out(&z->steps, "started threads, with which a Lisp cannot be copied",
                                 &z->notices);
            restart(z);
            return;
        }
        z->steps.at++;
        warm(z);
        break;
    case ZYGOTE_FORKING:
        strbuf_clear(&z->why);
        if (!ok) {
            const char *why = sexp_string(sexp_nth(reply, 2), NULL);
            strbuf_adds(&z->why, why == NULL ? "the Lisp could not be copied" : why);
        }
        z->state = ZYGOTE_READY;
        uv_timer_stop(z->deadline);
        serve(z);
        break;
    case ZYGOTE_ABSENT:
    case ZYGOTE_BUILDING:
    case ZYGOTE_STARTING:
    case ZYGOTE_READY:
        break;
    }
}

static void on_reply(void *arg, struct sexp_document *document)
{
    take_reply(arg, sexp_root(document));
    sexp_document_free(document);
}

static void on_progress(void *arg, const struct sexp *event)
{
}

static void on_output(void *arg, enum worker_stream stream, const char *bytes, size_t len)
{
    struct zygote *z = arg;
    size_t room = z->output.limit - z->output.len;
    strbuf_add(&z->output, bytes, len < room ? len : room);
    if (len > room)
        z->output.is_overflown = true;
}

static void on_built(void *arg, const struct err *err);

/* The core that was found is damaged or does not run on this SBCL: build one, once. */
static bool try_building(struct zygote *z)
{
    if (z->is_core_fresh)
        return false;
    z->is_core_fresh = true;
    struct err err;
    z->build =
        core_build(z->loop, z->children, z->lisp_path, z->core, z->options.build_limit_ms, on_built, z, &err);
    if (z->build == NULL) {
        z->is_core_fresh = false;
        fail(z, err.message);
        return true;
    }
    z->state = ZYGOTE_BUILDING;
    return true;
}

/* Start over: steps that were skipped are tried again. */
static void begin_anew(struct zygote *z)
{
    z->state = ZYGOTE_ABSENT;
    warm_steps_readmit(&z->steps);
    strbuf_clear(&z->notices);
    if (!list_is_empty(&z->waiting))
        start(z);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct zygote *z = arg;
    enum zygote_state was = z->state;
    bool was_late = uv_timer_get_due_in(z->deadline) == 0 && end->signal == SIGKILL;
    uv_timer_stop(z->deadline);
    char how[CHILD_END_TEXT], why[CHILD_END_TEXT + 32];
    child_end_text(end, how, sizeof how);
    snprintf(why, sizeof why, "ended the Lisp%s", how);
    log_info("the zygote ended%s while %s", how, state_names[was]);
    worker_free(z->worker);
    z->worker = NULL;
    switch (was) {
    case ZYGOTE_STARTING:
    case ZYGOTE_CONFIGURING:
        strbuf_clear(&z->end);
        strbuf_addf(&z->end, "The Lisp (%s) could not be started: it ended%s. %.*s", z->lisp_path, how,
                    (int)(z->output.len > 1000 ? 1000 : z->output.len), strbuf_string(&z->output));
        strbuf_clear(&z->output);
        if (!try_building(z))
            fail(z, strbuf_string(&z->end));
        break;
    case ZYGOTE_WARMING:
        notice_output(z);
        warm_steps_leave_out(&z->steps, was_late ? "took too long" : why, &z->notices);
        start(z);
        break;
    case ZYGOTE_READY:
    case ZYGOTE_FORKING:
    case ZYGOTE_ABSENT:
    case ZYGOTE_BUILDING:
        begin_anew(z);
        break;
    }
}

static const char *basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A Lisp in the sandbox must read its own image, and no other session's. ${sandbox}: given; NULL for that of
 * all Lisps of this confinement. */
static bool find_sandbox(const struct zygote *z, const struct confinement *confinement, const char *image,
                         struct sandbox **sandbox, struct err *err)
{
    *sandbox = NULL;
    if (confinement == NULL || image == z->core)
        return true;
    *sandbox = sandbox_new_with(confinement_sandbox(confinement), image, err);
    return *sandbox != NULL;
}

/* Start a Lisp from this image, with the options that all Lisps have. */
static struct worker *run_image(struct zygote *z, const struct zygote_kind *kind, struct quota *quota,
                                const char *image, const char *directory, const struct worker_events *events,
                                struct err *err)
{
    struct sandbox *sandbox;
    if (!find_sandbox(z, kind->confinement, image, &sandbox, err))
        return NULL;
    struct worker_ends ends;
    struct worker *w = worker_new(z->loop, z->children, quota, events, &ends, err);
    if (w == NULL) {
        sandbox_free(sandbox);
        return NULL;
    }
    char heap[16];
    snprintf(heap, sizeof heap, "%d", kind->heap_mib);
    const char *argv[] = {z->lisp_path,
                          "--core",
                          image,
                          "--noinform",
                          "--disable-ldb",
                          "--dynamic-space-size",
                          heap,
                          "--end-runtime-options",
                          "--no-sysinit",
                          "--no-userinit",
                          NULL};
    const char *environment[CONFINEMENT_MOST_VARIABLES + 2] = {z->options.environment_mark};
    const char *const *more = confinement_environment(kind->confinement);
    for (size_t i = 0; more[i] != NULL; i++) {
        CHECK(i < CONFINEMENT_MOST_VARIABLES);
        environment[i + 1] = more[i];
    }
    struct spawn_spec spec = {.argv = argv,
                              .environment = environment,
                              .sandbox = sandbox != NULL ? sandbox : confinement_sandbox(kind->confinement),
                              .directory = directory != NULL ? directory : z->options.directory};
    bool is_spawned = worker_spawn(w, &spec, &ends, err);
    sandbox_free(sandbox);
    if (!is_spawned) {
        worker_free(w);
        return NULL;
    }
    log_info("starting %s with %s", basename_of(z->lisp_path), image);
    return w;
}

static bool find_lisp(struct zygote *z, struct err *err)
{
    if (z->lisp_path == NULL)
        z->lisp_path = core_find_lisp(z->options.lisp, err);
    return z->lisp_path != NULL;
}

struct worker *zygote_start_image(struct zygote *z, const struct zygote_kind *kind, struct quota *quota,
                                  const char *image, const char *directory,
                                  const struct worker_events *events, struct err *err)
{
    return find_lisp(z, err) ? run_image(z, kind, quota, image, directory, events, err) : NULL;
}

static void spawn(struct zygote *z)
{
    struct worker_events events = {.on_ready = on_ready,
                                   .on_reply = on_reply,
                                   .on_progress = on_progress,
                                   .on_output = on_output,
                                   .on_gone = on_gone,
                                   .arg = z};
    z->state = ZYGOTE_STARTING;
    struct err err;
    z->worker = run_image(z, &z->options.kind, NULL, z->core, NULL, &events, &err);
    if (z->worker == NULL)
        fail(z, err.message);
    else
        set_deadline(z, cpu_grace_stretched(START_LIMIT_MS));
}

static void on_built(void *arg, const struct err *err)
{
    struct zygote *z = arg;
    z->build = NULL;
    if (err != NULL) {
        z->is_core_fresh = false;
        if (z->end.len > 0)
            strbuf_adds(&z->end, " A new image for it could not be built either. ");
        strbuf_adds(&z->end, err->message);
        fail(z, strbuf_string(&z->end));
    } else {
        spawn(z);
    }
}

static void start(struct zygote *z)
{
    struct err err;
    if (!find_lisp(z, &err)) {
        fail(z, err.message);
        return;
    }
    free(z->core);
    bool exists;
    strbuf_clear(&z->end);
    z->core = core_path(z->lisp_path, &exists, &err);
    if (z->core == NULL) {
        fail(z, err.message);
        return;
    }
    strbuf_clear(&z->output);
    if (exists) {
        spawn(z);
        return;
    }
    z->is_core_fresh = false;
    try_building(z);
}

bool zygote_is_absent(const struct zygote *z)
{
    return z->state == ZYGOTE_ABSENT;
}

void zygote_warm(struct zygote *z)
{
    if (z->state == ZYGOTE_ABSENT)
        start(z);
}

/* Copy the zygote for the request that has waited longest. */
static void serve(struct zygote *z)
{
    if (list_is_empty(&z->waiting) || z->state != ZYGOTE_READY)
        return;
    struct zygote_request *r = list_entry(z->waiting.next, struct zygote_request, node);
    list_remove(&r->node);
    struct worker_ends ends;
    struct err err;
    struct worker *w = worker_new(z->loop, z->children, r->quota, &r->events, &ends, &err);
    if (w == NULL) {
        r->on_failed(r->arg, &err);
        serve(z);
        return;
    }
    z->state = ZYGOTE_FORKING;
    int descriptors[] = {ends.channel, ends.output, ends.error};
    bool is_sent = worker_fork(z->worker, descriptors, 3, WORKER_SAYS_HELLO, &err);
    CHECK(is_sent); /* READY: it has answered all earlier requests */
    set_deadline(z, cpu_grace_stretched(FORK_LIMIT_MS));
    r->on_worker(r->arg, w);
}

void zygote_fork(struct zygote *z, struct zygote_request *request)
{
    list_init(&request->node);
    list_append(&z->waiting, &request->node);
    if (z->state == ZYGOTE_ABSENT)
        start(z);
    else
        serve(z);
}

void zygote_fork_cancel(struct zygote_request *request)
{
    list_remove(&request->node);
}

bool zygote_is_idle(const struct zygote *z)
{
    return list_is_empty(&z->waiting) && (z->state == ZYGOTE_READY || z->state == ZYGOTE_ABSENT);
}

const char *zygote_notices(const struct zygote *z)
{
    return z == NULL ? "" : strbuf_string(&z->notices);
}

const char *zygote_why(const struct zygote *z)
{
    return z == NULL ? "" : strbuf_string(&z->why);
}

const char *zygote_lisp(const struct zygote *z)
{
    return strbuf_string(&z->lisp);
}

static void plan(struct zygote *z)
{
    const struct zygote_options *o = &z->options;
    if (o->user_init != NULL)
        warm_steps_add(&z->steps, WARM_USER_INIT, o->user_init);
    for (size_t i = 0; o->loads != NULL && o->loads[i] != NULL; i++)
        warm_steps_add(&z->steps, WARM_LOAD, o->loads[i]);
    for (size_t i = 0; o->preloads != NULL && o->preloads[i] != NULL; i++)
        warm_steps_add(&z->steps, WARM_PRELOAD, o->preloads[i]);
    warm_steps_add(&z->steps, WARM_FINISH, NULL);
}

struct zygote *zygote_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options)
{
    struct zygote *z = xcalloc(1, sizeof *z);
    z->loop = loop;
    z->children = children;
    z->options = *options;
    list_init(&z->waiting);
    strbuf_init(&z->output, OUTPUT_KEPT);
    strbuf_init(&z->notices, (size_t)64 << 10);
    strbuf_init(&z->why, 4000);
    strbuf_init(&z->end, 4000);
    strbuf_init(&z->lisp, 200);
    plan(z);
    z->deadline = loop_handle_timer(loop, z);
    return z;
}

void zygote_free(struct zygote *z)
{
    if (z == NULL)
        return;
    while (!list_is_empty(&z->waiting))
        list_remove(z->waiting.next);
    core_build_cancel(z->build);
    worker_free(z->worker);
    loop_handle_free(z->deadline);
    warm_steps_fini(&z->steps);
    free(z->lisp_path);
    free(z->core);
    strbuf_fini(&z->output);
    strbuf_fini(&z->notices);
    strbuf_fini(&z->why);
    strbuf_fini(&z->end);
    strbuf_fini(&z->lisp);
    free(z);
}
