/*
 * What the sessions of all owners are given: the parts of the server that they use, and limits.
 */
#ifndef SESSION_CORE_HOST_OPTIONS_H
#define SESSION_CORE_HOST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "join/image.h"
#include "session/records/limits.h"

struct confinements;
struct control_groups;
struct leases;
struct session_wording;
struct zygotes;

/* The time limits inside a session that the user does not set, in milliseconds. */
struct session_waits {
    int step_ms;     /* between the steps of the escalation: interrupt, interrupt again, kill */
    int progress_ms; /* between two progress reports */
    int idle_ms;     /* until an idle session makes deferred snapshots */
    int hello_ms;    /* for the hello of a new process */
    int examine_ms;  /* for reading the frames of an error */
    int abort_ms;    /* for unwinding a failed operation */
    int standing_ms; /* until a standing error that is not entered is unwound */
    int asking_ms;   /* for the answer to a question; 0: no limit */
    int patience_ms; /* until a waiting operation reports what it waits behind */
};

/* The host keeps them; what is copied it has in members of its own. */
struct session_host_options {
    uv_loop_t *loop;             /* borrowed, outlives it */
    struct zygotes *zygotes;     /* borrowed, outlives it */
    const struct limits *limits; /* borrowed, copied: the initial limits of sessions */
    size_t most_sessions;        /* of all owners together; 0: SESSION_HOST_MOST_SESSIONS */
    size_t most_processes;       /* of all owners together, with copies; 0: as many as the machine allows */
    const struct session_wording *wording; /* borrowed, outlives it */
    const struct session_waits *waits;     /* borrowed, copied; NULL: the product's */
    uint64_t idle_timeout_ms;              /* a session that is idle for this long is suspended; 0: never */
    const char *image_directory;       /* borrowed, copied: for the images of suspended sessions; NULL: where
                                          temporary files are */
    struct confinements *confinements; /* borrowed, outlives it; NULL: no session is confined */
    struct control_groups *groups;     /* borrowed, outlives it; NULL: sessions have no groups */
    bool sends_secret;                 /* of Swank, also to a listener that may be another user's */
    enum image_announces announces;    /* what a person is told in whose image something is done */
    size_t lock_grace_s;               /* how long a person's program waits for a lock of an error */
    bool only_looks;                   /* nothing of the program runs in such an image */
    struct leases *leases; /* borrowed, outlives it: of sessions that can be saved; NULL: none are taken */
    bool redacts;          /* output that is not shown whole contains nothing that looks like a credential */
};

#define SESSION_HOST_MOST_SESSIONS 20000

#endif
