/*
 * The table guarantee x kernel: what the sandbox restricts, and by which mechanism of this kernel. Words for
 * people; the mechanisms themselves are sandbox_linux.c's.
 */
#ifndef PROC_GUARANTEES_H
#define PROC_GUARANTEES_H

#include <stdbool.h>

#include "proc/sandbox.h"

enum guarantee {
    GUARANTEE_FILES,    /* only the given ones are read and written */
    GUARANTEE_EMPTYING, /* no others are emptied, either: reading allowed that in old versions of Landlock */
    GUARANTEE_MOVING,   /* moving a file to another directory is possible, and restricted */
    GUARANTEE_MEMORY,   /* of processes outside the sandbox, and of other sessions */
    GUARANTEE_SIGNALS,  /* to processes outside the sandbox, and of other sessions */
    GUARANTEE_NETWORK,
    GUARANTEE_LOOPBACK, /* there is one that nobody else uses */
    GUARANTEES,         /* how many there are */
};

enum mechanism { MECHANISM_NONE, MECHANISM_LANDLOCK, MECHANISM_FILTER, MECHANISM_NAMESPACES };

struct guarantees {
    enum mechanism by[GUARANTEES]; /* MECHANISM_NONE: does not hold, or was not asked for */
    bool is_complete;              /* all that was asked for holds */
    char text[500];                /* sentences about what holds and what does not */
};

/*
 * guarantees_find(g, landlock_version, has_namespaces, network):
 * Fill ${g}: for each guarantee the first mechanism in its row that this kernel has.
 *
 * has_namespaces  whether the kernel lets this user make a network of its own; only
 *                 SANDBOX_NETWORK_LOOPBACK needs it
 */
void guarantees_find(struct guarantees *g, int landlock_version, bool has_namespaces,
                     enum sandbox_network network);

#endif
