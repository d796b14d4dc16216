/*
 * Two things measured in turns: a round is a turn of each, so that a change of the machine's load affects
 * both. Each round yields a median of each and the ratio of the two.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include "measure.h"
#include "table.h"

/* A thing to measure: ${once}(arg) does it once and returns how many milliseconds it took. */
struct side {
    double (*once)(void *arg);
    void *arg;
};

struct turns {
    struct samples turn, all; /* times, of the last turn and of all */
    struct samples medians, rates;
};

struct rounds {
    struct turns one, other;
    struct samples ratios, rate_ratios;
};

void rounds_init(struct rounds *r);
void rounds_fini(struct rounds *r);

/*
 * rounds_run(r, one, other, slice_ms, least):
 * A round. Each turn lasts ${slice_ms} milliseconds and at least ${least} times.
 *
 * other  NULL if there is nothing to compare with
 */
void rounds_run(struct rounds *r, const struct side *one, const struct side *other, double slice_ms,
                size_t least);

/* rounds_run_one/other(...): the two halves of a round separately, for setup between them. */
void rounds_run_one(struct rounds *r, const struct side *one, double slice_ms, size_t least);
void rounds_run_other(struct rounds *r, const struct side *other, double slice_ms, size_t least);

/* rounds_add_times/rates(r, one, other): a round measured elsewhere, in milliseconds or in calls a second;
 * ${other} is 0 if there is none. */
void rounds_add_times(struct rounds *r, double one, double other);
void rounds_add_rates(struct rounds *r, double one, double other);

/* rounds_print_times/rates(r, t, name, target): print a row of the table. */
void rounds_print_times(struct rounds *r, struct table *t, const char *name, struct target target);
void rounds_print_rates(struct rounds *r, struct table *t, const char *name, struct target target);

#endif
