/*
 * The benchmark: drives the real server over its standard input and output and, alternating in the same
 * rounds, what it is compared with, so that a disturbance affects both.
 *
 * It reports what it measured; missing a target does not fail the run.
 */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"
#include "measure.h"

/* In the order in which they run by default. */
static const struct suite *const suites[] = {
    &suite_calls,   &suite_checkpoints, &suite_starts,   &suite_memory,   &suite_mixed,
    &suite_storm,   &suite_lookups,     &suite_running,  &suite_http,     &suite_heaps,
    &suite_loading, &suite_sandbox,     &suite_sessions, &suite_fairness,
};

#define SUITES (sizeof suites / sizeof suites[0])

static const struct suite *find_suite(const char *name)
{
    for (size_t i = 0; i < SUITES; i++)
        if (strcmp(suites[i]->name, name) == 0)
            return suites[i];
    return NULL;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: bench [--lisp PROGRAM] [--checkpoints on|off] SERVER BARE.LISP [SUITE [COUNT]]...\n"
            "--checkpoints: as the server's option, off unless given; some suites compare the two.\n"
            "Suites, all of them unless some are named:\n");
    for (size_t i = 0; i < SUITES; i++)
        fprintf(stderr, "  %-12s %s\n", suites[i]->name, suites[i]->help);
    return 2;
}

static double load_average(void)
{
    double load[1] = {0};
    return getloadavg(load, 1) == 1 ? load[0] : 0;
}

static void print_machine(void)
{
    struct utsname system;
    char model[256] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f != NULL && fgets(model, sizeof model, f) != NULL && strncmp(model, "model name", 10) != 0)
        model[0] = '\0';
    if (f != NULL)
        fclose(f);
    model[strcspn(model, "\n")] = '\0';
    const char *name = strchr(model, ':');
    uname(&system);
    printf("%ld processors (%s), %.1f GiB of memory, %s %s %s.\n", sysconf(_SC_NPROCESSORS_ONLN),
           name != NULL ? name + 2 : "?",
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30), system.sysname,
           system.release, system.machine);
    printf("Load average %.2f at the start; a busy machine makes every figure worse.\n", load_average());
    printf("p50: median of the rounds' p50s. p99: of all samples. best: the p50 of the quietest round.\n"
           "Ratios are medians of the rounds' ratios; of best: the ratio of the two bests.\n");
}

/* The suite that argv[*at] names, with its count, if one follows; NULL if no suite has that name. */
static const struct suite *take_suite(int argc, char **argv, int *at, long *count)
{
    const struct suite *s = find_suite(argv[(*at)++]);
    if (s == NULL)
        return NULL;
    char *end = NULL;
    *count = s->count;
    if (s->count == 0 || *at == argc)
        return s;
    long given = strtol(argv[*at], &end, 10);
    if (*end == '\0' && given > 0) {
        *count = given;
        (*at)++;
    }
    return s;
}

static void run(struct bench *b, const struct suite *s, long count)
{
    b->count = count;
    printf("\n== %s: %s\n", s->name, s->help);
    fflush(stdout);
    double start = measure_now_ms();
    s->run(b);
    printf("(%.0f s)\n", (measure_now_ms() - start) / 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"lisp", 1, NULL, 'l'}, {"checkpoints", 1, NULL, 'k'}, {0}};
    struct bench b = {.lisp = "sbcl", .checkpoints = "off"};
    int key;
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (key == 'l')
            b.lisp = optarg;
        else if (key == 'k')
            b.checkpoints = optarg;
        else
            return usage();
    }
    if (argc - optind < 2)
        return usage();
    b.server_path = argv[optind];
    b.bare_path = argv[optind + 1];
    int first = optind + 2;
    long count;
    for (int i = first; i < argc;)
        if (take_suite(argc, argv, &i, &count) == NULL)
            return usage();
    signal(SIGPIPE, SIG_IGN);
    strbuf_init(&b.line, 0);
    double start = measure_now_ms();
    print_machine();
    for (size_t i = 0; first == argc && i < SUITES; i++)
        run(&b, suites[i], suites[i]->count);
    for (int i = first; i < argc;) {
        const struct suite *s = take_suite(argc, argv, &i, &count);
        run(&b, s, count);
    }
    table_finish(&b.table);
    printf("In %.0f s; load average %.2f at the end.\n", (measure_now_ms() - start) / 1e3, load_average());
    strbuf_fini(&b.line);
    return 0;
}
