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

#include "bench.h"
#include "rounds.h"

/* In the order in which they run by default. */
static const struct suite *const suites[] = {
    &suite_calls,  &suite_checkpoints, &suite_beside, &suite_running,  &suite_sandbox, &suite_lookups,
    &suite_starts, &suite_returns,     &suite_memory, &suite_sessions, &suite_http,
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
    fprintf(
        stderr,
        "usage: bench [--lisp PROGRAM] [--checkpoints on|off] [--beside SERVER] [--count N] SERVER BARE.LISP "
        "[SUITE [COUNT]]...\n"
        "--checkpoints: as the server's option, off unless given; some suites compare the two.\n"
        "--beside: another build, for the suite of that name. --count: of sessions, 1000 unless given.\n"
        "Suites, all of them unless some are named:\n");
    for (size_t i = 0; i < SUITES; i++)
        fprintf(stderr, "  %-12s %s\n", suites[i]->name, suites[i]->help);
    return 2;
}

static void run(struct bench *b, const struct suite *s)
{
    printf("\n== %s: %s\n", s->name, s->help);
    fflush(stdout);
    double start = measure_now_ms();
    s->run(b);
    printf("(%.0f s)\n", (measure_now_ms() - start) / 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"lisp", 1, NULL, 'l'},
                                            {"checkpoints", 1, NULL, 'k'},
                                            {"beside", 1, NULL, 'b'},
                                            {"count", 1, NULL, 'c'},
                                            {0}};
    struct bench b = {.lisp = "sbcl", .checkpoints = "off", .count = 1000};
    int key;
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (key == 'l')
            b.lisp = optarg;
        else if (key == 'k')
            b.checkpoints = optarg;
        else if (key == 'b')
            b.beside_path = optarg;
        else if (key == 'c' && atol(optarg) > 0)
            b.count = atol(optarg);
        else
            return usage();
    }
    if (argc - optind < 2)
        return usage();
    b.server_path = argv[optind];
    b.bare_path = argv[optind + 1];
    if (b.beside_path == NULL)
        b.beside_path = b.server_path;
    for (int i = optind + 2; i < argc; i++)
        if (find_suite(argv[i]) == NULL)
            return usage();
    signal(SIGPIPE, SIG_IGN);
    strbuf_init(&b.line, 0);
    printf("p50: median of the rounds' p50s. p99: of all samples. best: the p50 of the quietest round.\n"
           "Ratios are medians of the rounds' ratios; of best: the ratio of the two bests.\n");
    for (size_t i = 0; optind + 2 == argc && i < SUITES; i++)
        run(&b, suites[i]);
    for (int i = optind + 2; i < argc; i++)
        run(&b, find_suite(argv[i]));
    table_finish(&b.table);
    strbuf_fini(&b.line);
    return 0;
}
