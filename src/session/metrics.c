/*
 * Responsible for the metrics in the text format of Prometheus.
 */
#include "session/metrics.h"

#include <string.h>

#include "base/strbuf.h"
#include "lisp/zygotes.h"
#include "session/collections.h"
#include "session/session_host.h"

#define PREFIX "cl_mcp_"

enum gauge {
#define X(key, name, labels, help) GAUGE_##key,
    METRICS_GAUGES(X) GAUGE_COUNT
#undef X
};

struct row {
    const char *name, *labels, *help;
};

static const struct row counters[] = {
#define X(key, name, labels, help) {name, labels, help},
    METRICS_COUNTERS(X)
#undef X
};

static const struct row gauges[] = {
#define X(key, name, labels, help) {name, labels, help},
    METRICS_GAUGES(X)
#undef X
};

static uint64_t read_gauge(const struct session_host *host, enum gauge gauge)
{
    size_t resident = 0;
    switch (gauge) {
    case GAUGE_SESSIONS:
        return session_host_count(host);
    case GAUGE_SESSIONS_ASLEEP:
        return host->asleep;
    case GAUGE_PROCESSES:
        return session_host_processes(host);
    case GAUGE_ZYGOTES:
        return zygotes_count(host->zygotes);
    case GAUGE_SERVER_BYTES:
        return uv_resident_set_memory(&resident) == 0 ? resident : 0;
    case GAUGE_UPTIME:
        return (uv_now(host->loop) - host->started_at) / 1000;
    case GAUGE_COUNT:
        break;
    }
    return 0;
}

static void print(struct strbuf *out, const struct row *rows, size_t n, const char *type, uint64_t value)
{
    const struct row *row = &rows[n];
    if (n == 0 || strcmp(rows[n - 1].name, row->name) != 0)
        strbuf_addf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", row->name, row->help, row->name,
                    type);
    if (row->labels[0] != '\0')
        strbuf_addf(out, PREFIX "%s{%s} %llu\n", row->name, row->labels, (unsigned long long)value);
    else
        strbuf_addf(out, PREFIX "%s %llu\n", row->name, (unsigned long long)value);
}

void metrics_print(const struct session_host *host, struct strbuf *out)
{
    for (size_t i = 0; i < METRIC_COUNTER_COUNT; i++)
        print(out, counters, i, "counter", host->metrics.counters[i]);
    for (size_t i = 0; i < GAUGE_COUNT; i++)
        print(out, gauges, i, "gauge", read_gauge(host, (enum gauge)i));
}
