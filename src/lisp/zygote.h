/*
 * The zygote: a warm Lisp that never runs the client's code, from which session processes are copied in a
 * fraction of a millisecond. It is started when first needed, loads the user's init file and what --load and
 * --preload name, and is started again when it dies.
 */
#ifndef LISP_ZYGOTE_H
#define LISP_ZYGOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/errors.h"
#include "base/list.h"
#include "lisp/worker.h"

struct quota;
struct sandbox;
struct strbuf;
struct zygote;

struct zygote_options {
    const char *lisp;               /* program name or path */
    const char *user_init;          /* path; NULL for none */
    const char *const *loads;       /* files, NULL-terminated; may be NULL */
    const char *const *preloads;    /* systems, NULL-terminated; may be NULL */
    const char *directory;          /* where the Lisps work; NULL: ours */
    const char *environment_mark;   /* NAME=VALUE; may be NULL */
    const char *const *environment; /* more of them, NULL-terminated; may be NULL */
    const struct sandbox *sandbox;  /* in which the Lisps run; NULL: none */
    int heap_mib;                   /* --dynamic-space-size */
    int build_limit_ms;             /* for building the core; 0: CORE_BUILD_LIMIT_MS */
    int user_init_limit_ms;         /* for loading the init file; 0: 10 s */
    void (*on_rest)(void *arg);     /* it has come up, or given up, or the last request was served; the zygote
                                       must not be freed in it; may be NULL */
    void *arg;
};

/* Somebody who wants a session process; lives in the asker's memory. */
struct zygote_request {
    struct list node;    /* private */
    int heap_mib;        /* for zygotes_fork() */
    struct quota *quota; /* borrowed: where the process is counted; NULL: nowhere */
    struct worker_events events;
    /* A worker in state WORKER_STARTING: its on_ready or on_gone comes next. Given. */
    void (*on_worker)(void *arg, struct worker *worker);
    /* There will be none; ${err} says why. */
    void (*on_failed)(void *arg, const struct err *err);
    void *arg;
};

/* zygote_new(loop, children, options): options are borrowed and outlive it; nothing is started.
 * zygote_free(z): ends it; requests still waiting are forgotten. */
struct zygote *zygote_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options);
void zygote_free(struct zygote *z);

/* zygote_warm(z): start it now, so that the first request finds it ready. */
void zygote_warm(struct zygote *z);

/*
 * zygote_fork(z, request):
 * Ask for a session process. Exactly one of on_worker and on_failed is called, later or from inside this
 * call.
 *
 * request     borrowed until one of the two has been called or zygote_fork_cancel(request) was
 */
void zygote_fork(struct zygote *z, struct zygote_request *request);
void zygote_fork_cancel(struct zygote_request *request);

/*
 * zygote_start_image(z, heap_mib, quota, image, directory, events, err):
 * Start a Lisp from an image that a session was saved to, beside the zygote and with the same program and
 * options, but for the heap size.
 *
 * directory   where it works; NULL: where the zygote does
 * quota       borrowed: where the process is counted; NULL: nowhere
 * Returns     given, WORKER_STARTING; it must be sent configure (zygote_configure_request) before anything
 *             else. NULL with ${err} set
 */
struct worker *zygote_start_image(struct zygote *z, int heap_mib, struct quota *quota, const char *image,
                                  const char *directory, const struct worker_events *events, struct err *err);

/* zygote_configure_request(z, says_directory, out): append the request that tells a Lisp whose it is and, if
 * ${says_directory}, where it is to work. */
void zygote_configure_request(const struct zygote *z, bool says_directory, struct strbuf *out);

/* zygote_disown(z, worker): a worker that came from here has said hello, or is about to be freed; in that
 * case its process, if it is being made still, will be ended. */
void zygote_disown(struct zygote *z, const struct worker *worker);

/* zygote_is_idle(z): nobody waits for it, and nothing is under way in it. */
bool zygote_is_idle(const struct zygote *z);

/* zygote_is_building(z): the core that all zygotes are started from is being built. */
bool zygote_is_building(const struct zygote *z);

/* zygote_notices(z): what the user should know of how it started (an init file that failed, ...): lines,
 * borrowed, "" for nothing. */
const char *zygote_notices(const struct zygote *z);

/* zygote_why(z): the last reason why a copy could not be made; borrowed. */
const char *zygote_why(const struct zygote *z);

/* zygote_lisp(z): "SBCL 2.2.9.debian" once known, else "". */
const char *zygote_lisp(const struct zygote *z);

#endif
