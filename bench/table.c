/*
 * The printed table.
 */
#include "table.h"

#include <stdbool.h>
#include <stdio.h>

#define NAME "%-60s"

static void begin(struct table *t, const char *title, const char *other)
{
    snprintf(t->title, sizeof t->title, "%s", title);
    t->other = other != NULL ? other : "";
}

static void print_headline(struct table *t, const char *title, const char *other, const char *measure)
{
    begin(t, title, other);
    printf("\n" NAME "%10s %8s %8s", title, measure, measure[0] == 'p' ? "p99" : "", "best");
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
    begin(t, title, NULL);
    printf("\n" NAME "%10s\n", title, "MiB");
}

static void print_number(double value, int width)
{
    if (value <= 0)
        printf(" %*s", width, "");
    else
        printf(" %*.*f", width, value < 0.1 ? 4 : value < 100 ? 3 : value < 1000 ? 1 : 0, value);
}

static void print_rate(double value, int width)
{
    if (value <= 0)
        printf(" %*s", width, "");
    else
        printf(" %*.0f", width, value);
}

static double ratio_of_bests(const struct row *row)
{
    double best = row->per_second > 0 ? row->best_per_second : row->best_ms;
    return row->other_best > 0 ? best / row->other_best : 0;
}

/* Describe the target of ${row} in words; returns whether it was met. */
static bool write_target(const struct table *t, const struct row *row, char *out, size_t size)
{
    double value = row->target.value;
    switch (row->target.kind) {
    case TARGET_NONE:
        break;
    case TARGET_MOST_TIMES:
        snprintf(out, size, "at most %gx %s", value, t->other);
        return row->ratio <= value;
    case TARGET_MOST_TIMES_BEST:
        snprintf(out, size, "at most %gx %s, of best", value, t->other);
        return ratio_of_bests(row) <= value;
    case TARGET_MOST_MS:
        snprintf(out, size, "at most %g ms", value);
        return row->p50_ms <= value;
    case TARGET_LEAST_PER_SECOND:
        snprintf(out, size, "at least %g/s", value);
        return row->per_second >= value;
    case TARGET_MOST_MIB:
        snprintf(out, size, "at most %g MiB", value);
        return row->mib <= value;
    }
    out[0] = '\0';
    return true;
}

static void write_value(const struct row *row, char *out, size_t size)
{
    double best = row->per_second > 0 ? row->best_per_second : row->best_ms;
    const char *unit = "MiB";
    double value = row->mib;
    if (row->target.kind == TARGET_MOST_TIMES || row->target.kind == TARGET_MOST_TIMES_BEST) {
        best = row->other_best > 0 && row->target.kind == TARGET_MOST_TIMES ? ratio_of_bests(row) : 0;
        value = row->target.kind == TARGET_MOST_TIMES ? row->ratio : ratio_of_bests(row);
        unit = "times";
    } else if (row->target.kind == TARGET_MOST_MS) {
        value = row->p50_ms;
        unit = "ms";
    } else if (row->target.kind == TARGET_LEAST_PER_SECOND) {
        value = row->per_second;
        unit = "a second";
    }
    int decimals = value < 1 ? 3 : value < 100 ? 2 : 0;
    size_t n = (size_t)snprintf(out, size, "%.*f %s", decimals, value, unit);
    if (best > 0 && n < size)
        snprintf(out + n, size - n, ", best %.*f", decimals, best);
}

static void print_figures(const struct row *row)
{
    if (row->mib > 0) {
        print_number(row->mib, 9);
        return;
    }
    if (row->per_second > 0) {
        print_rate(row->per_second, 9);
        printf(" %8s", "");
        print_rate(row->best_per_second, 8);
        if (row->other > 0) {
            print_rate(row->other, 9);
            print_rate(row->other_best, 9);
        }
    } else {
        print_number(row->p50_ms, 9);
        print_number(row->p99_ms, 8);
        print_number(row->best_ms, 8);
        if (row->other > 0) {
            print_number(row->other, 9);
            print_number(row->other_best, 9);
        }
    }
    if (row->ratio > 0)
        printf(" %8.2f", row->ratio);
    if (row->ratio > 0 && ratio_of_bests(row) > 0)
        printf(" %8.2f", ratio_of_bests(row));
}

void table_add(struct table *t, const struct row *row)
{
    printf(NAME, row->name);
    print_figures(row);
    if (row->target.kind != TARGET_NONE) {
        char target[80], value[80];
        bool is_met = write_target(t, row, target, sizeof target);
        write_value(row, value, sizeof value);
        printf("  %s: %s", target, is_met ? "PASS" : "miss");
        t->targets++;
        t->met += is_met;
        if (!is_met)
            strbuf_addf(&t->missed, "  %s, %s: %s (%s)\n", t->title, row->name, value, target);
    }
    putchar('\n');
    fflush(stdout);
}

void table_add_time(struct table *t, const char *name, double ms, double most)
{
    table_add(t, &(struct row){
                     .name = name, .p50_ms = ms, .target = {most > 0 ? TARGET_MOST_MS : TARGET_NONE, most}});
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
