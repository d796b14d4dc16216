/*
 * The structures behind collections of sessions; for the files of this folder.
 */
#ifndef SESSION_CORE_COLLECTIONS_H
#define SESSION_CORE_COLLECTIONS_H

#include <uv.h>

#include "base/hash_table.h"
#include "base/quota.h"
#include "session/core/actions.h"
#include "session/core/news.h"
#include "session/core/host_options.h"
#include "session/output/output_budget.h"
#include "session/records/limits.h"
#include "session/records/metrics.h"

struct memory_watch;
struct orphans;

/* members are used by sessions.c */
struct sessions {
    struct list node; /* in ${host->owners} */
    struct session_host *host;
    char *owner;
    struct saved_store *store; /* NULL: sessions cannot be saved */
    struct quota quota;        /* on the number of sessions */
    struct quota processes;    /* on their processes, all copies included */
    struct output_budget outputs;
    size_t operation_bytes; /* of requests and code, of all operations that wait or run */
    struct hash_table by_name;
    struct list all; /* the oldest first */
    struct list watchers;
    unsigned long made;
};

/* members are used by session_host.c */
struct session_host {
    struct session_host_options options;
    session_action *const *actions; /* by enum session_action */
    session_step *const *steps;     /* by enum session_step */
    struct limits limits;
    struct session_waits waits;
    struct list owners;               /* of struct sessions */
    struct quota sessions, processes; /* of all owners */
    struct output_budget outputs;
    uint64_t seed; /* for hashing names */
    struct image_store *image_store;
    struct orphans *orphans; /* owned */
    struct list idle;        /* of struct session: the longest idle first */
    uv_timer_t *idle_timer;
    struct session *suspending; /* borrowed: the session whose image is being written */
    size_t suspended;
    size_t planned_saves;       /* of sessions that were not told to save yet */
    uint64_t started_at;        /* loop time in ms */
    bool is_everything_limited; /* operations without a time limit get their session's */
    struct metrics metrics;
    struct memory_watch *memory_watch;
};

#endif
