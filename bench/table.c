/*
 * The printed table.
 */
#include "table.h"

#include <stdbool.h>
#include <stdio.h>

#define NAME "%-46s"

void table_times(const char *title)
{
    printf("\n" NAME "%10s %8s %8s %9s %9s %8s\n", title, "p50 ms", "p99", "best", "bare p50", "best",
           "x bare");
}

void table_rates(const char *title)
{
    printf("\n" NAME "%10s %8s %8s %9s %9s %8s\n", title, "calls/s", "", "", "bare", "", "x bare");
}

void table_sizes(const char *title)
{
    printf("\n" NAME "%10s\n", title, "MiB");
}

static void print_number(double value, int width)
{
    if (value <= 0)
        printf(" %*s", width, "");
    else
        printf(" %*.*f", width, value < 0.1 ? 4 : value < 100 ? 3 : value < 1000 ? 1 : 0, value);
}

static bool print_target(const struct row *row)
{
    double value = row->target.value;
    switch (row->target.kind) {
    case TARGET_NONE:
        return false;
    case TARGET_MOST_TIMES_BARE:
        printf("  at most %gx bare", value);
        return row->ratio <= value;
    case TARGET_MOST_MS:
        printf("  at most %g ms", value);
        return row->p50_ms <= value;
    case TARGET_LEAST_PER_SECOND:
        printf("  at least %g/s", value);
        return row->per_second >= value;
    case TARGET_MOST_MIB:
        printf("  at most %g MiB", value);
        return row->mib <= value;
    }
    return false;
}

void table_add(struct table *t, const struct row *row)
{
    printf(NAME, row->name);
    if (row->mib > 0) {
        print_number(row->mib, 9);
    } else if (row->per_second > 0) {
        printf("%10.0f %8s %8s", row->per_second, "", "");
        if (row->bare > 0)
            printf(" %9.0f %9s %8.2f", row->bare, "", row->ratio);
    } else {
        print_number(row->p50_ms, 9);
        print_number(row->p99_ms, 8);
        print_number(row->best_ms, 8);
        print_number(row->bare, 9);
        print_number(row->bare_best_ms, 9);
        if (row->ratio > 0)
            printf(" %8.2f", row->ratio);
    }
    if (row->target.kind != TARGET_NONE) {
        bool is_met = print_target(row);
        printf(": %s", is_met ? "PASS" : "miss");
        t->targets++;
        t->met += is_met;
    }
    putchar('\n');
    fflush(stdout);
}
