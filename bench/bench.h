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
    const char *checkpoints; /* "on" or "off", for the suites that do not compare the two */
    long count;              /* the number after the suite's name, or the suite's default */
    long last_id;            /* of a request */
    struct strbuf line;      /* the request being written */
    struct table table;
};

struct suite {
    const char *name;
    const char *help;
    long count; /* how many things it measures, if that can be chosen; otherwise 0 */
    void (*run)(struct bench *b);
};

extern const struct suite suite_calls, suite_checkpoints, suite_starts, suite_memory, suite_mixed,
    suite_storm, suite_lookups, suite_running, suite_heaps, suite_loading, suite_http, suite_sandbox,
    suite_sessions, suite_fairness;

#endif
