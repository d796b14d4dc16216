/*
 * The command line. The only reader of argv and of the environment variables that mean something to us.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "session/limits.h"

#define OPTIONS_MOST_REPEATED 64
#define OPTIONS_MOST_NODE 32

struct options {
    const char *lisp;
    const char *user_init; /* NULL: none; allocated when made up */
    const char *loads[OPTIONS_MOST_REPEATED + 1];
    const char *preloads[OPTIONS_MOST_REPEATED + 1];
    const char *directory;
    const char *listing;
    bool wants_stdio;                                      /* said, which matters beside HTTP only */
    const char *http_addresses[OPTIONS_MOST_REPEATED + 1]; /* none: no HTTP */
    const char *allowed_hosts[OPTIONS_MOST_REPEATED + 1];
    const char *allowed_origins[OPTIONS_MOST_REPEATED + 1];
    const char *cors_origins[OPTIONS_MOST_REPEATED + 1];
    const char *token_file;
    const char *tls_certificate;
    const char *tls_key;
    const char *node;       /* NULL: none */
    const char *build_core; /* path; NULL: serve */
    bool wants_structured;
    bool is_conformance;   /* --conformance, which --help does not show: serve the official suite's fixtures,
                              too */
    char *state_directory; /* NULL when there is no home */
    bool is_persistent;
    size_t most_sessions, most_processes;           /* of the server; 0: not said */
    size_t principal_sessions, principal_processes; /* of each principal; 0: no bound of its own */
    const char *metrics_address;                    /* NULL: none */
    size_t idle_timeout_s;                          /* 0: sessions never sleep */
    struct limits limits;
};

enum options_outcome { OPTIONS_SERVE, OPTIONS_DONE, OPTIONS_WRONG };

/*
 * options_parse(o, argc, argv):
 * Fill ${o}; strings point into ${argv}.
 *
 * Returns     OPTIONS_DONE when --help or --version has been answered on stdout, OPTIONS_WRONG when something
 * was wrong and said on stderr
 */
enum options_outcome options_parse(struct options *o, int argc, char **argv);
void options_fini(struct options *o);

#endif
