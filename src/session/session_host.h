/*
 * The state that the sessions of all owners share: the loop, the zygotes, initial limits, and quotas. Each
 * owner has its own collection (sessions.h) and cannot see the others.
 */
#ifndef SESSION_SESSION_HOST_H
#define SESSION_SESSION_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "session/core/waits.h"
#include "session/records/limits.h"

struct confinements;
struct control_groups;
struct leases;
struct session_host;
struct session_wording;
struct sessions;
struct strbuf;
struct zygotes;

struct session_host_options {
    uv_loop_t *loop;             /* borrowed, outlives it */
    struct zygotes *zygotes;     /* borrowed, outlives it */
    const struct limits *limits; /* borrowed, copied: the initial limits of sessions */
    size_t most_sessions;        /* of all owners together; 0: SESSION_HOST_MOST_SESSIONS */
    size_t most_processes;       /* of all owners together, with copies; 0: as many as the machine allows */
    size_t most_memory_mib;      /* of each session with its copies; 0: a quarter of the memory */
    const struct session_wording *wording; /* borrowed, outlives it */
    const struct session_waits *waits;     /* borrowed, copied; NULL: the product's */
    uint64_t idle_timeout_ms;              /* a session that is idle for this long is suspended; 0: never */
    const char *image_directory;       /* borrowed, copied: for the images of suspended sessions; NULL: where
                                          temporary files are */
    struct confinements *confinements; /* borrowed, outlives it; NULL: no session is confined */
    struct control_groups *groups;     /* borrowed, outlives it; NULL: sessions have no groups */
    struct leases *leases; /* borrowed, outlives it: of sessions that can be saved; NULL: none are taken */
    bool redacts;          /* output that is not shown whole contains nothing that looks like a credential */
};

#define SESSION_HOST_MOST_SESSIONS 20000

/* session_host_new(options). session_host_free(host): all its collections must have been freed before. */
struct session_host *session_host_new(const struct session_host_options *options);
void session_host_free(struct session_host *host);

/* session_host_first(host), session_host_next(sessions): the collections of all owners, in the order in which
 * they were made; NULL at the end. */
struct sessions *session_host_first(const struct session_host *host);
struct sessions *session_host_next(const struct sessions *sessions);

/* session_host_count(host), session_host_processes(host): the sessions of all owners, their processes with
 * all copies. */
size_t session_host_count(const struct session_host *host);
size_t session_host_processes(const struct session_host *host);

/* session_host_plan_saves(host, count): ${count} more sessions will be told to save; for the metrics. */
void session_host_plan_saves(struct session_host *host, size_t count);

/* session_host_limit_everything(host): no client is left to cancel anything. Operations without a time
 * limit get that of their session, present and future ones. */
void session_host_limit_everything(struct session_host *host);

/* session_host_stop_everything(host): stop what runs, as session_stop() does; what waits never begins. */
void session_host_stop_everything(struct session_host *host);

/* session_host_print_metrics(host, out): append all metrics in the format of metrics_print().
 * session_host_log_status(host): log them, and a line for each session. */
void session_host_print_metrics(const struct session_host *host, struct strbuf *out);
void session_host_log_status(const struct session_host *host);

#endif
