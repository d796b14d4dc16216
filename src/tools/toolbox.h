/*
 * The objects that tools use: made once by main, borrowed by every call.
 */
#ifndef TOOLS_TOOLBOX_H
#define TOOLS_TOOLBOX_H

#include <stdbool.h>
#include <stdint.h>

struct audit;
struct confinements;
struct evaluations;
struct saved_store;
struct sessions;
struct tasks;
struct zygotes;

struct toolbox {
    struct sessions *sessions;
    struct zygotes *zygotes;
    struct saved_store *store;
    const char
        *directory; /* where the Lisps work, NULL: where the server does; files below it may be edited */
    struct confinements *confinements; /* borrowed; NULL: no session is confined */
    uint64_t inspections; /* made so far; their handles are numbered by it, so that none ever stands for
                             another object */
    bool loads_code;      /* into each new session, which may define tools */
    bool is_persistent;   /* a saved session comes back when it is first named */
    struct tasks *tasks;  /* of the layer above: calls that outlive their requests; NULL: none does */
    struct audit *audit;  /* where each call is recorded; NULL: nowhere */
    const char *owner;    /* for the record; "" for none */
    bool redacts;         /* what looks like a credential is left out of answers */
    struct evaluations *evaluations; /* those that outlive their calls; NULL: none does */
    struct others *others;           /* what several clients did in one session; NULL: nobody is told */
    uint64_t clients;                /* that there have been, each with a connection of its own */
};

#endif
