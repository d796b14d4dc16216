/*
 * Clock readings, statistics of many of them, and two things measured in turns: a round is a turn of each, so
 * that a change of the machine's load affects both. Each round yields a median of each and the ratio of the
 * two.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stddef.h>

#include "table.h"

struct samples {
    double *values;
    size_t count, capacity;
};

/* measure_now_ms(): milliseconds of the monotonic clock, with a fraction. measure_wait_until_ms(when): sleep
 * until the clock reaches ${when}; return at once if it has. */
double measure_now_ms(void);
void measure_wait_until_ms(double when);

/* samples_add(s, value): ${s} begins as {0}. samples_quantile(s, part): the value that ${part} of them do not
 * exceed; 0 if there are none; sorts them. samples_print(s, t, name, most_ms): print a row of the table, with
 * a target unless ${most_ms} is 0, and free them. */
void samples_add(struct samples *s, double value);
double samples_quantile(struct samples *s, double part);
void samples_print(struct samples *s, struct table *t, const char *name, double most_ms);

/* A thing to measure: ${once}(arg) does it once and returns how many milliseconds it took. */
struct side {
    double (*once)(void *arg);
    void *arg;
};

struct turns {
    struct samples all, medians,
        rates; /* times of all turns; of each turn its median, and its calls a second */
};

struct rounds {
    struct turns one, other;
    struct samples ratios, rate_ratios;
};

/*
 * rounds_run(r, one, other, slice_ms, least):
 * A round. Each turn lasts ${slice_ms} milliseconds and at least ${least} times.
 *
 * r      begins as {0}
 * other  NULL if there is nothing to compare with
 */
void rounds_run(struct rounds *r, const struct side *one, const struct side *other, double slice_ms,
                size_t least);

/* rounds_add_rate(r, rate): a turn of one measured elsewhere, in calls a second. */
void rounds_add_rate(struct rounds *r, double rate);

/* rounds_print_times/rates(r, t, name, target): print a row of the table. rounds_fini(r): free the samples.
 */
void rounds_print_times(struct rounds *r, struct table *t, const char *name, struct target target);
void rounds_print_rates(struct rounds *r, struct table *t, const char *name, struct target target);
void rounds_fini(struct rounds *r);

#endif
