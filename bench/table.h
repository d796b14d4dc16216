/*
 * The printed table: rows of times, of rates and of sizes, each with its target and whether it was met.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stddef.h>

#include "base/strbuf.h"

enum target_kind {
    TARGET_NONE,
    TARGET_MOST_TIMES, /* times the value it is compared with */
    TARGET_MOST_MS,
    TARGET_LEAST_PER_SECOND,
    TARGET_MOST_MIB
};

struct target {
    enum target_kind kind;
    double value;
};

/* A row; members that are 0 are not printed. */
struct row {
    const char *name;
    double p50_ms, p99_ms, best_ms; /* best: the p50 of the quietest round */
    double per_second, best_per_second;
    double other, other_best; /* of the other side: its p50 in ms, or its calls a second */
    double ratio;
    double mib;
    struct target target;
};

struct table {
    char title[80];
    const char *other; /* the name of what the rows are compared with */
    size_t targets, met;
    struct strbuf missed; /* a line for each */
};

/* table_times/rates/sizes(t, title, other): print a headline over the columns of that kind of row;
 * ${other} names the other side, or is NULL. */
void table_times(struct table *t, const char *title, const char *other);
void table_rates(struct table *t, const char *title, const char *other);
void table_sizes(struct table *t, const char *title);

/* table_add(t, row): print ${row} and count its target. table_add_size(t, name, mib, most): a row of one
 * size, with a target if ${most} is not 0. */
void table_add(struct table *t, const struct row *row);
void table_add_size(struct table *t, const char *name, double mib, double most);

/* table_miss(t, sentence): count a target that was missed before it could be measured; prints ${sentence}. */
void table_miss(struct table *t, const char *sentence);

/* table_finish(t): print how many targets were met, and which were not. */
void table_finish(struct table *t);

#endif
