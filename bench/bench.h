/*
 * What the suites share, and the table of them. A suite is a theme with its own servers, which it starts and
 * stops; it prints its tables as it goes.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/strbuf.h"
#include "table.h"

struct bench {
    const char *server_path, *lisp, *bare_path;
    const char *beside_path; /* another build of the server; the same one unless given */
    const char *checkpoints; /* "on" or "off", for the suites that do not compare the two */
    long count;              /* of sessions */
    long last_id;            /* of a request */
    struct strbuf line;      /* the request being written */
    struct table table;
};

struct suite {
    const char *name;
    const char *help;
    void (*run)(struct bench *b);
};

extern const struct suite suite_calls, suite_checkpoints, suite_beside, suite_running, suite_sandbox,
    suite_lookups, suite_starts, suite_returns, suite_memory, suite_sessions, suite_http;

#endif
