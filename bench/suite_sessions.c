/*
 * Many sessions at once: how long creating them takes, what they cost, whether each answers, and, if fewer
 * were created than requested, why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "flock.h"
#include "memory.h"

#define SAMPLES 300

static void write_evaluation(struct bench *b, long n)
{
    char code[80];
    snprintf(code, sizeof code, "(progn (defun f (x) (* x 2)) (f %ld))", n);
    flock_write_evaluate(b, n, code, 60);
}

static void print_limits(void)
{
    struct rlimit files, processes;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NPROC, &processes);
    unsigned long pids = 0;
    FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
    if (f != NULL) {
        if (fscanf(f, "%lu", &pids) != 1)
            pids = 0;
        fclose(f);
    }
    printf("This machine: %lu process numbers, %llu processes of this user, %llu descriptors a process.\n",
           pids, (unsigned long long)processes.rlim_max, (unsigned long long)files.rlim_max);
}

static void measure_memory(struct bench *b, const struct peer *server, long sessions)
{
    size_t capacity = (size_t)sessions * 10 + 64;
    pid_t *lisps = xcalloc(capacity, sizeof *lisps);
    size_t n = memory_children(server->pid, "sbcl", lisps, capacity);
    struct memory m, sum = {0};
    for (size_t i = 0; i < n; i++)
        if (memory_read(lisps[i], &m))
            memory_sum(&sum, &m);
    free(lisps);
    if (!memory_read(server->pid, &m))
        bench_fail("cannot read the memory of the server");
    char title[80];
    snprintf(title, sizeof title, "Memory of %zu Lisp processes", n);
    table_sizes(&b->table, title);
    table_add_size(&b->table, "PSS of all, server included", sum.pss_mib + m.pss_mib,
                   1536.0 * (double)sessions / 1000);
    table_add_size(&b->table, "PSS of a session", sum.pss_mib / (double)sessions, 1.5);
    table_add_size(&b->table, "page tables of all (kernel)", sum.page_tables_mib, 0);
    table_add_size(&b->table, "server, PSS", m.pss_mib, 0);
}

static void run(struct bench *b)
{
    struct peer server;
    char reason[400], sentence[500], title[80];
    struct samples one, each;
    samples_init(&one);
    samples_init(&each);
    print_limits();
    client_start(b, &server, b->checkpoints, NULL, NULL);
    double start = measure_now_ms();
    long made = flock_pipeline(b, &server, b->count, flock_write_create, "created", reason, sizeof reason);
    double created = measure_now_ms();
    if (made < b->count) {
        snprintf(sentence, sizeof sentence, "The making stopped at %ld of %ld sessions: %s", made, b->count,
                 reason);
        table_miss(&b->table, sentence);
    }
    if (made == 0)
        bench_fail("no session could be made");
    long good = flock_pipeline(b, &server, made, write_evaluation, "=> ", reason, sizeof reason);
    double evaluated = measure_now_ms();
    if (good < made) {
        snprintf(sentence, sizeof sentence, "Only %ld of %ld sessions answered: %s", good, made, reason);
        table_miss(&b->table, sentence);
    }
    snprintf(title, sizeof title, "%ld sessions, checkpoints %s", made, b->checkpoints);
    table_times(&b->table, title, NULL);
    table_add_time(&b->table, "create-session, 64 in flight", created - start, 0);
    table_add_time(&b->table, "a first evaluation in each, 64 in flight", evaluated - created, 0);
    table_add_time(&b->table, "all made and each has answered", evaluated - start, 2 * (double)made);
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&one, flock_call(b, &server, 0, "(+ 1 2)", ADDED));
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&each, flock_call(b, &server, (long)i * 7919 % made, "(+ 1 2)", ADDED));
    flock_print_calls(b, "(+ 1 2) in one of them, the others idle", &one);
    flock_print_calls(b, "(+ 1 2) here and there", &each);
    measure_memory(b, &server, made);
    double before = measure_now_ms();
    peer_stop(&server);
    table_times(&b->table, "The end", NULL);
    table_add_time(&b->table, "end of input to end of server", measure_now_ms() - before, 0);
    samples_fini(&one);
    samples_fini(&each);
}

const struct suite suite_sessions = {
    "sessions", "COUNT sessions at once, 1000 unless given, and what stopped it if fewer came", 1000, run};
