/*
 * Responsible for the metrics in the text format of Prometheus.
 */
#include "session/records/metrics.h"

#include <string.h>

#include "base/strbuf.h"

#define PREFIX "cl_mcp_"

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

void metrics_print(const struct metrics *m, const uint64_t *values, struct strbuf *out)
{
    for (size_t i = 0; i < METRIC_COUNTER_COUNT; i++)
        print(out, counters, i, "counter", m->counters[i]);
    for (size_t i = 0; i < METRIC_GAUGE_COUNT; i++)
        print(out, gauges, i, "gauge", values[i]);
}
