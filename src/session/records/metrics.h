/*
 * Metrics of the server: counters, which only grow, and gauges, which are read on request. A new metric is a
 * row here and, for a counter, a call where the event occurs.
 */
#ifndef SESSION_RECORDS_METRICS_H
#define SESSION_RECORDS_METRICS_H

#include <stdint.h>

struct strbuf;

/* Key, name, labels ("" for none), help. Rows of one name stand together; the first one's help is printed. */
#define METRICS_COUNTERS(X)                                                                                  \
    X(SESSIONS_CREATED, "sessions_created_total", "", "Sessions created.")                                   \
    X(EVALUATIONS_OK, "evaluations_total", "outcome=\"ok\"", "Evaluations, by outcome.")                     \
    X(EVALUATIONS_ERROR, "evaluations_total", "outcome=\"error\"", "")                                       \
    X(EVALUATIONS_STOPPED, "evaluations_total", "outcome=\"stopped\"", "")                                   \
    X(EVALUATIONS_DIED, "evaluations_total", "outcome=\"died\"", "")                                         \
    X(OPERATIONS, "operations_total", "", "Operations requested of sessions, including look-ups.")           \
    X(OUTPUT_BYTES, "output_bytes_total", "", "Bytes printed by Lisp processes.")                            \
    X(DEATHS, "process_deaths_total", "", "Session processes that ended unexpectedly.")                      \
    X(CHECKPOINTS_MADE, "checkpoints_total", "outcome=\"made\"",                                             \
      "Requests for a copy of a session, by outcome.")                                                       \
    X(CHECKPOINTS_REFUSED, "checkpoints_total", "outcome=\"refused\"", "")                                   \
    X(SUSPENDED, "suspensions_total", "", "Suspensions of a session.")                                       \
    X(RESUMED, "resumptions_total", "", "Resumptions of a suspended session.")

#define METRICS_GAUGES(X)                                                                                    \
    X(SESSIONS, "sessions", "", "Current sessions.")                                                         \
    X(SESSIONS_SUSPENDED, "sessions_suspended", "", "Current sessions that are suspended.")                  \
    X(SESSIONS_LIVE, "sessions_live", "", "Current sessions that are not suspended.")                        \
    X(RUNNING, "operations_running", "", "Operations that run now, at most one for each session.")           \
    X(WAITING, "operations_waiting", "", "Operations that wait for others of their session.")                \
    X(SAVES_PENDING, "saves_pending", "", "Saves of sessions that are under way or planned.")                \
    X(PROCESSES, "lisp_processes", "", "Session processes, including their copies.")                         \
    X(ZYGOTES, "zygotes", "", "Zygotes, the processes from which sessions are copied.")                      \
    X(SERVER_BYTES, "server_resident_bytes", "", "Resident memory of the server process.")                   \
    X(MEMORY_USED, "memory_used_bytes", "",                                                                  \
      "Memory in use under the tightest limit, that of the machine or of a control group.")                  \
    X(MEMORY_LIMIT, "memory_limit_bytes", "", "That limit; 0 if it is not known.")                           \
    X(UPTIME, "uptime_seconds", "", "Seconds since the server started.")

enum metric {
#define X(key, name, labels, help) METRIC_##key,
    METRICS_COUNTERS(X) METRIC_COUNTER_COUNT
#undef X
};

enum metric_gauge {
#define X(key, name, labels, help) METRIC_GAUGE_##key,
    METRICS_GAUGES(X) METRIC_GAUGE_COUNT
#undef X
};

struct metrics {
    uint64_t counters[METRIC_COUNTER_COUNT];
};

/* metrics_print(m, values, out): append all metrics in Prometheus's text format, version 0.0.4; their
 * names begin with cl_mcp_. ${values} are those of the gauges, METRIC_GAUGE_COUNT of them. */
void metrics_print(const struct metrics *m, const uint64_t *values, struct strbuf *out);

#endif
