/*
 * Clock readings and statistics; two things measured in turns.
 */
#include "rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"

double measure_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void measure_wait_until_ms(double when)
{
    struct timespec t = {.tv_sec = (time_t)(when / 1e3)};
    t.tv_nsec = (long)((when - (double)t.tv_sec * 1e3) * 1e6);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void samples_add(struct samples *s, double value)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 1024 : 2 * s->capacity;
        s->values = xrealloc(s->values, s->capacity * sizeof *s->values);
    }
    s->values[s->count++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(struct samples *s, double part)
{
    if (s->count == 0)
        return 0;
    qsort(s->values, s->count, sizeof *s->values, compare);
    size_t at = (size_t)(part * (double)s->count);
    return s->values[at < s->count ? at : s->count - 1];
}

void samples_print(struct samples *s, struct table *t, const char *name, double most_ms)
{
    table_add(t, &(struct row){.name = name,
                               .p50_ms = samples_quantile(s, 0.5),
                               .p99_ms = samples_quantile(s, 0.99),
                               .best_ms = samples_quantile(s, 0),
                               .target = {most_ms > 0 ? TARGET_MOST_MS : TARGET_NONE, most_ms}});
    free(s->values);
}

static double last(const struct samples *s)
{
    return s->values[s->count - 1];
}

static void take_turn(struct turns *t, const struct side *side, double slice_ms, size_t least)
{
    struct samples turn = {0};
    double start = measure_now_ms(), now = start;
    while (now - start < slice_ms || turn.count < least) {
        samples_add(&turn, side->once(side->arg));
        samples_add(&t->all, last(&turn));
        now = measure_now_ms();
    }
    samples_add(&t->rates, (double)turn.count * 1e3 / (now - start));
    samples_add(&t->medians, samples_quantile(&turn, 0.5));
    free(turn.values);
}

void rounds_run(struct rounds *r, const struct side *one, const struct side *other, double slice_ms,
                size_t least)
{
    take_turn(&r->one, one, slice_ms, least);
    if (other == NULL)
        return;
    take_turn(&r->other, other, slice_ms, least);
    samples_add(&r->ratios, last(&r->one.medians) / last(&r->other.medians));
    samples_add(&r->rate_ratios, last(&r->one.rates) / last(&r->other.rates));
}

void rounds_add_rate(struct rounds *r, double rate)
{
    samples_add(&r->one.rates, rate);
}

void rounds_print_times(struct rounds *r, struct table *t, const char *name, struct target target)
{
    table_add(t, &(struct row){.name = name,
                               .p50_ms = samples_quantile(&r->one.medians, 0.5),
                               .p99_ms = samples_quantile(&r->one.all, 0.99),
                               .best_ms = samples_quantile(&r->one.medians, 0),
                               .other = samples_quantile(&r->other.medians, 0.5),
                               .other_best = samples_quantile(&r->other.medians, 0),
                               .ratio = samples_quantile(&r->ratios, 0.5),
                               .target = target});
}

void rounds_print_rates(struct rounds *r, struct table *t, const char *name, struct target target)
{
    table_add(t, &(struct row){.name = name,
                               .per_second = samples_quantile(&r->one.rates, 0.5),
                               .best_per_second = samples_quantile(&r->one.rates, 1),
                               .other = samples_quantile(&r->other.rates, 0.5),
                               .other_best = samples_quantile(&r->other.rates, 1),
                               .ratio = samples_quantile(&r->rate_ratios, 0.5),
                               .target = target});
}

void rounds_fini(struct rounds *r)
{
    struct samples *all[] = {&r->one.all,       &r->one.medians, &r->one.rates, &r->other.all,
                             &r->other.medians, &r->other.rates, &r->ratios,    &r->rate_ratios};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->values);
}
