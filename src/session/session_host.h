/*
 * What the sessions of all owners share: the loop, the zygotes, the limits that sessions begin with, and how
 * many there may be. Each owner has a collection of its own (sessions.h) and sees no other.
 */
#ifndef SESSION_SESSION_HOST_H
#define SESSION_SESSION_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "session/limits.h"
#include "session/waits.h"

struct confinements;
struct session_host;
struct session_wording;
struct sessions;
struct strbuf;
struct zygotes;

struct session_host_options {
    uv_loop_t *loop;             /* borrowed, outlives it */
    struct zygotes *zygotes;     /* borrowed, outlives it */
    const struct limits *limits; /* borrowed, copied: what new sessions begin with */
    size_t most_sessions;        /* of all owners together; 0: SESSION_HOST_MOST_SESSIONS */
    size_t
        most_processes; /* of all owners together, copies included; 0: as many as the machine lets us have */
    size_t most_memory_mib; /* of each session with its copies; 0: a quarter of what there is */
    const struct session_wording *wording; /* borrowed, outlives it: of what only sessions know */
    const struct session_waits *waits;     /* borrowed, copied; NULL: as the product has them */
    uint64_t idle_timeout_ms;    /* a session that was not used for that long is put to sleep; 0: never */
    const char *sleep_directory; /* borrowed, copied: where their images are kept meanwhile; NULL: where
                                    temporary files are */
    struct confinements *confinements; /* borrowed, outlives it; NULL: no session is confined */
};

#define SESSION_HOST_MOST_SESSIONS 20000

/* session_host_new(options). session_host_free(host): all collections in it were freed before. */
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

/* session_host_limit_everything(host): nobody is left who could cancel anything. Operations that were to have
 * no time limit get that of their session, those that run and those to come. */
void session_host_limit_everything(struct session_host *host);

/* session_host_print_metrics(host, out): append all figures, as metrics_print() has them.
 * session_host_log_status(host): these and a line for each session into the log. */
void session_host_print_metrics(const struct session_host *host, struct strbuf *out);
void session_host_log_status(const struct session_host *host);

#endif
