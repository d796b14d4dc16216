/*
 * Clock readings and statistics of many of them.
 */
#include "measure.h"

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

void samples_init(struct samples *s)
{
    *s = (struct samples){0};
}

void samples_fini(struct samples *s)
{
    free(s->values);
    samples_init(s);
}

void samples_clear(struct samples *s)
{
    s->count = 0;
}

void samples_add(struct samples *s, double value)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 1024 : 2 * s->capacity;
        s->values = xrealloc(s->values, s->capacity * sizeof *s->values);
    }
    s->values[s->count++] = value;
}

void samples_add_all(struct samples *s, const struct samples *other)
{
    for (size_t i = 0; i < other->count; i++)
        samples_add(s, other->values[i]);
}

double samples_last(const struct samples *s)
{
    return s->values[s->count - 1];
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
