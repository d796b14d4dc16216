/*
 * The objects that tools use: created once at start-up, borrowed by every call.
 */
#ifndef CALLS_TOOLBOX_H
#define CALLS_TOOLBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "session/records/author.h"

struct audit;
struct confinements;
struct evaluations;
struct events;
struct saved_store;
struct sessions;
struct tasks;
struct tool_table;
struct zygotes;

struct toolbox {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct zygotes *zygotes;
    struct saved_store *store;
    const char
        *directory; /* the Lisps' working directory, NULL: the server's; files below it may be edited */
    struct confinements *confinements; /* borrowed; NULL: no session is confined */
    uint64_t inspections; /* counts inspections; numbers their handles, so that a handle is never reused for
                             another object */
    bool loads_code;      /* into each new session, which may then define tools */
    bool is_persistent;   /* a saved session is restored when it is first named */
    struct tasks *tasks;  /* of the layer above: calls that outlive their requests; NULL: not supported */
    struct audit *audit;  /* records each call; NULL: no record */
    const char *owner;    /* for the record; "" for none */
    const char *attach;   /* the image that a default session joins; NULL: it is a Lisp of the server's own */
    bool only_looks;      /* at that image: tools that evaluate code are not offered */
    bool may_attach;      /* its clients may name an image that a new session joins */
    const struct tool_table *tools; /* all that there are; NULL: there is no listing */
    const char *listing;            /* the tools that its clients list, as listing_of() takes it; NULL: all */
    bool redacts;                   /* answers contain nothing that looks like a credential */
    struct evaluations *evaluations;     /* those that outlive their calls; NULL: not supported */
    struct events *events;               /* what happens in each session; NULL: not recorded */
    struct other_clients *other_clients; /* what several clients did in one session; NULL: not reported */
    size_t persons;                      /* how many follow the events now, and can be asked */
    uint64_t clients;                    /* how many there were, each with its own connection */
    struct author caller; /* the client whose call came last; its name is empty: none has said it */
};

#endif
