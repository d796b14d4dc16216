/*
 * The zygote: a warm Lisp that never runs the client's code, from which session processes are copied in a
 * fraction of a millisecond. The first request starts it. It loads the user's init file and what --load and
 * --preload name. If it dies, it is started again.
 */
#ifndef LISP_ZYGOTE_H
#define LISP_ZYGOTE_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"
#include "base/list.h"
#include "lisp/worker.h"

struct confinement;
struct quota;
struct strbuf;
struct zygote;

/* What a copy has from its original, and cannot change. */
struct zygote_kind {
    int heap_mib;                          /* --dynamic-space-size */
    const struct confinement *confinement; /* borrowed, outlives all Lisps; NULL: none */
};

struct zygote_options {
    const char *lisp;             /* program name or path */
    const char *user_init;        /* path; NULL for none */
    const char *const *loads;     /* files, NULL-terminated; may be NULL */
    const char *const *preloads;  /* systems, NULL-terminated; may be NULL */
    const char *directory;        /* the Lisps' working directory; NULL: the server's */
    const char *environment_mark; /* NAME=VALUE; may be NULL */
    struct zygote_kind kind;
    int build_limit_ms;     /* for building the core; 0: CORE_BUILD_LIMIT_MS */
    int user_init_limit_ms; /* for loading the init file; 0: 10 s */
};

/* A request for a session process; in the requester's memory. */
struct zygote_request {
    struct list node;        /* private */
    struct zygote_kind kind; /* for zygotes_fork() */
    struct quota *quota;     /* borrowed: counts the process; NULL: none */
    struct worker_events events;
    /* A worker in state WORKER_STARTING: its on_ready or on_gone comes next. Given. */
    void (*on_worker)(void *arg, struct worker *worker);
    /* No process can be made; ${err} contains the reason. */
    void (*on_failed)(void *arg, const struct err *err);
    void *arg;
};

/* zygote_new(loop, children, options): options are borrowed and outlive it; nothing is started.
 * zygote_free(z): end it; waiting requests are dropped. */
struct zygote *zygote_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options);
void zygote_free(struct zygote *z);

/* zygote_warm(z): start it now, so that it is ready for the first request.
 * zygote_is_absent(z): it has no process. */
void zygote_warm(struct zygote *z);
bool zygote_is_absent(const struct zygote *z);

/*
 * zygote_fork(z, request):
 * Request a session process. Exactly one of on_worker and on_failed is called, later or during this
 * call.
 *
 * request     borrowed until one of the two or zygote_fork_cancel(request) has been called
 */
void zygote_fork(struct zygote *z, struct zygote_request *request);
void zygote_fork_cancel(struct zygote_request *request);

/*
 * zygote_start_image(z, kind, quota, image, directory, events, err):
 * Start a Lisp of this kind from an image that a session was saved to, beside the zygote and with the same
 * program and other options.
 *
 * directory   its working directory; NULL: the zygote's
 * quota       borrowed: counts the process; NULL: none
 * Returns     given, WORKER_STARTING; its first request must be configure (zygote_configure_request).
 *             NULL with ${err} set
 */
struct worker *zygote_start_image(struct zygote *z, const struct zygote_kind *kind, struct quota *quota,
                                  const char *image, const char *directory,
                                  const struct worker_events *events, struct err *err);

/* zygote_configure_request(z, says_directory, directory, out): append the request that tells a Lisp its owner
 * and, if ${says_directory}, its working directory; NULL: the zygote's. */
void zygote_configure_request(const struct zygote *z, bool says_directory, const char *directory,
                              struct strbuf *out);

/* zygote_is_idle(z): no request waits, and the zygote is doing nothing. */
bool zygote_is_idle(const struct zygote *z);

/* zygote_notices(z): what the user should know about its start (an init file that failed, ...): lines;
 * borrowed; "" for none, also without a zygote. */
const char *zygote_notices(const struct zygote *z);

/* zygote_why(z): the last reason why no copy could be made; borrowed; "" for none, also without a zygote. */
const char *zygote_why(const struct zygote *z);

/* zygote_lisp(z): "SBCL 2.2.9.debian" once known, else "". */
const char *zygote_lisp(const struct zygote *z);

#endif
