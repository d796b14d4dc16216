/*
 * The printed table: rows of times, of rates and of sizes, each with its target and whether it was met.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stddef.h>

enum target_kind {
    TARGET_NONE,
    TARGET_MOST_TIMES_BARE,
    TARGET_MOST_MS,
    TARGET_LEAST_PER_SECOND,
    TARGET_MOST_MIB
};

struct target {
    enum target_kind kind;
    double value;
};

/* A row; what is 0 is not printed. */
struct row {
    const char *name;
    double p50_ms, p99_ms, best_ms; /* best: the p50 of the quietest round */
    double per_second;
    double bare; /* the bare Lisp's p50 in ms, or its calls a second */
    double bare_best_ms;
    double ratio;
    double mib;
    struct target target;
};

struct table {
    size_t targets, met;
};

/* table_times/rates/sizes(title): a headline over the columns that rows of that kind fill. */
void table_times(const char *title);
void table_rates(const char *title);
void table_sizes(const char *title);

/* table_add(t, row): print ${row}; counts its target. */
void table_add(struct table *t, const struct row *row);

#endif
