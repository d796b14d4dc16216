/*
 * The command line: a line of the input is an argument. Invariants: what is accepted has every number within
 * its bounds and no list is longer than its place.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "lisp/confinement.h"
#include "options/options.h"

#define MOST_ARGUMENTS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What is wrong with a command line is told there; the sanitizers write to the descriptor. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    stderr = fopen("/dev/null", "we");
    CHECK(stderr != NULL);
    return 0;
}

static void check(const struct options *o)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const struct limit_definition *definition = limit_definition(limit);
        CHECK(o->limits.value[limit] >= definition->minimum && o->limits.value[limit] <= definition->maximum);
    }
    CHECK(o->confinement.mode < CONFINEMENT_MODES && o->confinement.network < SANDBOX_NETWORKS);
    const char *const *const lists[] = {o->http.addresses,
                                        o->http.rules.allowed_hosts,
                                        o->http.rules.allowed_origins,
                                        o->http.rules.cors_origins,
                                        o->zygote.loads,
                                        o->zygote.preloads,
                                        o->confinement.writable,
                                        o->confinement.readable};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        size_t count = 0;
        while (lists[i][count] != NULL)
            count++;
        CHECK(count <= OPTIONS_MOST_REPEATED);
    }
    CHECK(o->http.node == NULL || strlen(o->http.node) <= OPTIONS_MOST_NODE);
    CHECK(o->zygote.lisp != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *argv[MOST_ARGUMENTS + 2] = {text}, *rest = text;
    int argc = 0;
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    while (rest != NULL && argc <= MOST_ARGUMENTS)
        argv[argc++] = strsep(&rest, "\n");
    argv[argc] = NULL;
    struct options o;
    optind = 0; /* begin anew: glibc's getopt_long() keeps its place in a global */
    if (options_parse(&o, argc, argv))
        check(&o);
    options_fini(&o);
    free(text);
    return 0;
}
