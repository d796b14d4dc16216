/*
 * Measures two things in turns.
 */
#include "rounds.h"

static void each(struct rounds *r, void (*function)(struct samples *s))
{
    struct samples *all[] = {&r->one.turn,   &r->one.all,    &r->one.medians,   &r->one.rates,
                             &r->other.turn, &r->other.all,  &r->other.medians, &r->other.rates,
                             &r->ratios,     &r->rate_ratios};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        function(all[i]);
}

void rounds_init(struct rounds *r)
{
    each(r, samples_init);
}

void rounds_fini(struct rounds *r)
{
    each(r, samples_fini);
}

static void take_turn(struct turns *t, const struct side *side, double slice_ms, size_t least)
{
    samples_clear(&t->turn);
    double start = measure_now_ms(), now = start;
    while (now - start < slice_ms || t->turn.count < least) {
        samples_add(&t->turn, side->once(side->arg));
        now = measure_now_ms();
    }
    samples_add_all(&t->all, &t->turn);
    samples_add(&t->rates, (double)t->turn.count * 1e3 / (now - start));
    samples_add(&t->medians, samples_quantile(&t->turn, 0.5));
}

void rounds_run_one(struct rounds *r, const struct side *one, double slice_ms, size_t least)
{
    take_turn(&r->one, one, slice_ms, least);
}

void rounds_run_other(struct rounds *r, const struct side *other, double slice_ms, size_t least)
{
    take_turn(&r->other, other, slice_ms, least);
    samples_add(&r->ratios, samples_last(&r->one.medians) / samples_last(&r->other.medians));
    samples_add(&r->rate_ratios, samples_last(&r->one.rates) / samples_last(&r->other.rates));
}

void rounds_run(struct rounds *r, const struct side *one, const struct side *other, double slice_ms,
                size_t least)
{
    rounds_run_one(r, one, slice_ms, least);
    if (other != NULL)
        rounds_run_other(r, other, slice_ms, least);
}

void rounds_add_times(struct rounds *r, double one, double other)
{
    samples_add(&r->one.all, one);
    samples_add(&r->one.medians, one);
    if (other <= 0)
        return;
    samples_add(&r->other.medians, other);
    samples_add(&r->ratios, one / other);
}

void rounds_add_rates(struct rounds *r, double one, double other)
{
    samples_add(&r->one.rates, one);
    if (other <= 0)
        return;
    samples_add(&r->other.rates, other);
    samples_add(&r->rate_ratios, one / other);
}

void rounds_print_times(struct rounds *r, struct table *t, const char *name, struct target target)
{
    table_add(t, &(struct row){
                     .name = name,
                     .p50_ms = samples_quantile(&r->one.medians, 0.5),
                     .p99_ms = samples_quantile(&r->one.all, 0.99),
                     .best_ms = samples_quantile(&r->one.medians, 0),
                     .other = samples_quantile(&r->other.medians, 0.5),
                     .other_best = samples_quantile(&r->other.medians, 0),
                     .ratio = samples_quantile(&r->ratios, 0.5),
                     .target = target,
                 });
}

void rounds_print_rates(struct rounds *r, struct table *t, const char *name, struct target target)
{
    table_add(t, &(struct row){
                     .name = name,
                     .per_second = samples_quantile(&r->one.rates, 0.5),
                     .best_per_second = samples_quantile(&r->one.rates, 1),
                     .other = samples_quantile(&r->other.rates, 0.5),
                     .other_best = samples_quantile(&r->other.rates, 1),
                     .ratio = samples_quantile(&r->rate_ratios, 0.5),
                     .target = target,
                 });
}
