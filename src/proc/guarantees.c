/*
 * Responsible for the table guarantee x kernel, and for choosing from it. docs/sandbox.md shows the table.
 */
#include "proc/guarantees.h"

#include <stdio.h>
#include <string.h>

#define LOOPBACK (1u << SANDBOX_NETWORK_LOOPBACK)
#define OFF (1u << SANDBOX_NETWORK_OFF)

/* The versions of Landlock: 1 is in Linux 5.13, 2 in 5.19, 3 in 6.2, 6 in 6.12. */
static const struct {
    const char *what;    /* follows "Restricted: "; NULL: another row contains it */
    const char *missing; /* follows "Not restricted: " if no mechanism is here */
    const char *instead; /* a sentence about what does not work if the first mechanism is not here */
    unsigned only_for;   /* the settings of the network with which it is asked for; 0: all */
    struct {
        enum mechanism mechanism;
        int version; /* of Landlock, the first that will do */
    } by[2];         /* in order of preference */
} rows[GUARANTEES] = {
    [GUARANTEE_FILES] = {.what = "files", .by = {{MECHANISM_LANDLOCK, 1}}},
    [GUARANTEE_EMPTYING] = {.instead = "truncate(2) fails for every file (before Linux 6.2).",
                            .by = {{MECHANISM_LANDLOCK, 3}, {MECHANISM_FILTER}}},
    [GUARANTEE_MOVING] = {.instead =
                              "No file can be moved or linked to another directory (before Linux 5.19).",
                          .by = {{MECHANISM_LANDLOCK, 2}}},
    [GUARANTEE_MEMORY] = {.what = "other processes' memory", .by = {{MECHANISM_LANDLOCK, 1}}},
    [GUARANTEE_SIGNALS] = {.what = "signals to other processes",
                           .missing =
                               "signals to your other programs and to other sessions (needs Linux 6.12)",
                           .by = {{MECHANISM_LANDLOCK, 6}}},
    [GUARANTEE_NETWORK] = {.what = "network", .only_for = LOOPBACK | OFF, .by = {{MECHANISM_FILTER}}},
    [GUARANTEE_LOOPBACK] = {.instead =
                                "There is no network: a private loopback needs user namespaces, which this "
                                "system does not allow.",
                            .only_for = LOOPBACK,
                            .by = {{MECHANISM_NAMESPACES}}},
};

static bool is_here(enum mechanism mechanism, int version, int landlock_version, bool has_namespaces)
{
    return mechanism == MECHANISM_LANDLOCK     ? landlock_version >= version
           : mechanism == MECHANISM_NAMESPACES ? has_namespaces
                                               : mechanism == MECHANISM_FILTER;
}

static bool is_asked_for(size_t i, enum sandbox_network network)
{
    return rows[i].only_for == 0 || (rows[i].only_for & 1u << network) != 0;
}

static void add(struct guarantees *g, const char *before, const char *text)
{
    size_t len = strlen(g->text);
    snprintf(g->text + len, sizeof g->text - len, "%s%s", before, text);
}

/* A sentence that lists what holds, or what does not. */
static void add_list(struct guarantees *g, bool holds, enum sandbox_network network, const char *label)
{
    const char *before = label;
    for (size_t i = 0; i < GUARANTEES; i++) {
        const char *words = holds ? rows[i].what : rows[i].missing;
        if (is_asked_for(i, network) && words != NULL && (g->by[i] != MECHANISM_NONE) == holds) {
            add(g, before, words);
            before = ", ";
        }
    }
    if (before != label)
        add(g, ".", "");
}

void guarantees_find(struct guarantees *g, int landlock_version, bool has_namespaces,
                     enum sandbox_network network)
{
    *g = (struct guarantees){.is_complete = true};
    for (size_t i = 0; i < GUARANTEES; i++) {
        if (!is_asked_for(i, network))
            continue;
        for (size_t k = 0; k < 2 && g->by[i] == MECHANISM_NONE; k++)
            if (is_here(rows[i].by[k].mechanism, rows[i].by[k].version, landlock_version, has_namespaces))
                g->by[i] = rows[i].by[k].mechanism;
        g->is_complete = g->is_complete && g->by[i] != MECHANISM_NONE;
    }
    add_list(g, true, network, "Restricted: ");
    add_list(g, false, network, " Not restricted: ");
    for (size_t i = 0; i < GUARANTEES; i++)
        if (is_asked_for(i, network) && rows[i].instead != NULL && g->by[i] != rows[i].by[0].mechanism)
            add(g, " ", rows[i].instead);
}
