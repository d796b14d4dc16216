/*
 * The printed table.
 */
#include "table.h"

#include <stdbool.h>
#include <stdio.h>

#define NAME "%-60s"

static void print_headline(struct table *t, const char *title, const char *other, const char *measure)
{
    snprintf(t->title, sizeof t->title, "%s", title);
    t->other = other != NULL ? other : "";
    printf("\n" NAME "%10s %8s %8s", title, measure, measure[0] == 'p' ? "p99" : "",
           measure[0] == 'M' ? "" : "best");
    if (other != NULL)
        printf(" %9s %9s %8s %8s", other, "best", "x", "of best");
    putchar('\n');
}

void table_times(struct table *t, const char *title, const char *other)
{
    print_headline(t, title, other, "p50 ms");
}

void table_rates(struct table *t, const char *title, const char *other)
{
    print_headline(t, title, other, "calls/s");
}

void table_sizes(struct table *t, const char *title)
{
    print_headline(t, title, NULL, "MiB");
}

static void print_number(double value, int width, bool is_rate)
{
    if (value <= 0)
        printf(" %*s", width, "");
    else
        printf(" %*.*f", width, is_rate || value >= 1000 ? 0 : value < 0.1 ? 4 : value < 100 ? 3 : 1, value);
}

static double ratio_of_bests(const struct row *row)
{
    double best = row->per_second > 0 ? row->best_per_second : row->best_ms;
    return row->other_best > 0 ? best / row->other_best : 0;
}

/* Count the target of ${row} and print in words whether it was met. */
static void judge(struct table *t, const struct row *row)
{
    static const char *const units[] = {[TARGET_MOST_TIMES] = "x",
                                        [TARGET_MOST_MS] = " ms",
                                        [TARGET_LEAST_PER_SECOND] = "/s",
                                        [TARGET_MOST_MIB] = " MiB"};
    const double values[] = {[TARGET_MOST_TIMES] = row->ratio,
                             [TARGET_MOST_MS] = row->p50_ms,
                             [TARGET_LEAST_PER_SECOND] = row->per_second,
                             [TARGET_MOST_MIB] = row->mib};
    enum target_kind kind = row->target.kind;
    bool is_least = kind == TARGET_LEAST_PER_SECOND;
    double value = values[kind];
    bool is_met = is_least ? value >= row->target.value : value <= row->target.value;
    char target[80];
    snprintf(target, sizeof target, "at %s %g%s", is_least ? "least" : "most", row->target.value,
             units[kind]);
    printf("  %s: %s", target, is_met ? "PASS" : "miss");
    t->targets++;
    t->met += is_met;
    if (!is_met)
        strbuf_addf(&t->missed, "  %s, %s: %.*f (%s)\n", t->title, row->name, value < 100 ? 2 : 0, value,
                    target);
}

void table_add(struct table *t, const struct row *row)
{
    bool is_rate = row->per_second > 0;
    printf(NAME, row->name);
    if (row->mib > 0) {
        print_number(row->mib, 9, false);
    } else {
        print_number(is_rate ? row->per_second : row->p50_ms, 9, is_rate);
        print_number(row->p99_ms, 8, false);
        print_number(is_rate ? row->best_per_second : row->best_ms, 8, is_rate);
    }
    if (row->other > 0) {
        print_number(row->other, 9, is_rate);
        print_number(row->other_best, 9, is_rate);
        printf(" %8.2f %8.2f", row->ratio, ratio_of_bests(row));
    }
    if (row->target.kind != TARGET_NONE)
        judge(t, row);
    putchar('\n');
    fflush(stdout);
}

void table_add_size(struct table *t, const char *name, double mib, double most)
{
    table_add(t, &(struct row){
                     .name = name, .mib = mib, .target = {most > 0 ? TARGET_MOST_MIB : TARGET_NONE, most}});
}

void table_miss(struct table *t, const char *sentence)
{
    printf("%s\n", sentence);
    t->targets++;
    strbuf_addf(&t->missed, "  %s\n", sentence);
}

void table_finish(struct table *t)
{
    printf("\n%zu of %zu targets met.%s\n", t->met, t->targets, t->met < t->targets ? " Missed:" : "");
    if (t->met < t->targets)
        fputs(strbuf_string(&t->missed), stdout);
    strbuf_fini(&t->missed);
}
