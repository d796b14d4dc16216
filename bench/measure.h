/*
 * Clock readings and statistics of many of them.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>

struct samples {
    double *values;
    size_t count, capacity;
};

/* measure_now_ms(): milliseconds of the monotonic clock, with a fraction. */
double measure_now_ms(void);

/* measure_wait_until_ms(when): sleep until the clock reaches ${when}; return at once if it has. */
void measure_wait_until_ms(double when);

/* samples_init/fini: on the caller's memory. samples_clear(s): empty it, keep its memory. */
void samples_init(struct samples *s);
void samples_fini(struct samples *s);
void samples_clear(struct samples *s);

void samples_add(struct samples *s, double value);
void samples_add_all(struct samples *s, const struct samples *other);

/* samples_last(s): the sample added last; there must be one, and no quantile may have been asked for. */
double samples_last(const struct samples *s);

/* samples_quantile(s, part): the value that ${part} of them do not exceed; 0 if there are none. Sorts
 * them. */
double samples_quantile(struct samples *s, double part);

#endif
