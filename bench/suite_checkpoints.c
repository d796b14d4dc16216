/*
 * The cost of losing no state: two servers in turns, one that copies the session after each evaluation and
 * one that does not; then the recovery after a death, the memory of the copies, and saves.
 */
#include <stdio.h>

#include "client.h"
#include "directory.h"
#include "memory.h"
#include "rounds.h"

#define ROUNDS 11
#define SLICE_MS 100
#define LEAST_SAMPLES 20
#define PACE_MS 10.0
#define DEATHS 25
#define CHECKPOINTS 8
#define SAVES 5

/* One server and its request, sent at once or at the next beat of a client that pauses between its calls. */
struct party {
    struct bench *b;
    struct peer server;
    const char *request, *expected;
    double next;
};

static double call_at_once(void *arg)
{
    struct party *p = arg;
    return client_call(p->b, &p->server, p->request, p->expected);
}

static double call_on_the_beat(void *arg)
{
    struct party *p = arg;
    double now = measure_now_ms();
    p->next = p->next + PACE_MS < now ? now + PACE_MS : p->next + PACE_MS;
    measure_wait_until_ms(p->next);
    return client_call(p->b, &p->server, p->request, p->expected);
}

static void run_rounds(struct party *on, struct party *off, const char *request, const char *expected,
                       double (*once)(void *arg), struct rounds *r)
{
    const struct side one = {once, on}, other = {once, off};
    rounds_init(r);
    on->request = off->request = request;
    on->expected = off->expected = expected;
    for (int i = 0; i < ROUNDS; i++)
        rounds_run(r, &one, &other, SLICE_MS, LEAST_SAMPLES);
}

static void measure_calls(struct bench *b, struct party *on, struct party *off)
{
    static const char *const error = EVALUATE("(car 42)", "");
    struct rounds sequence, paced, sequence_of_errors, paced_errors;
    run_rounds(on, off, ADD, ADDED, call_at_once, &sequence);
    run_rounds(on, off, ADD, ADDED, call_on_the_beat, &paced);
    run_rounds(on, off, error, "[Backtrace]", call_at_once, &sequence_of_errors);
    run_rounds(on, off, error, "[Backtrace]", call_on_the_beat, &paced_errors);
    table_times(&b->table, "A copy after each evaluation", "no copies");
    rounds_print_times(&sequence, &b->table, "(+ 1 2), one after the other", (struct target){TARGET_NONE, 0});
    rounds_print_times(&paced, &b->table, "(+ 1 2), 100 calls a second",
                       (struct target){TARGET_MOST_TIMES, 1.1});
    rounds_print_times(&sequence_of_errors, &b->table, "error (car 42), one after the other",
                       (struct target){TARGET_NONE, 0});
    rounds_print_times(&paced_errors, &b->table, "error (car 42), 100 calls a second",
                       (struct target){TARGET_MOST_TIMES, 1.1});
    table_rates(&b->table, "Evaluations a second, a copy after each", "no copies");
    rounds_print_rates(&sequence, &b->table, "(+ 1 2) in sequence",
                       (struct target){TARGET_LEAST_PER_SECOND, 3000});
    rounds_print_rates(&sequence_of_errors, &b->table, "error (car 42) in sequence",
                       (struct target){TARGET_NONE, 0});
    rounds_fini(&sequence);
    rounds_fini(&paced);
    rounds_fini(&sequence_of_errors);
    rounds_fini(&paced_errors);
}

static void add_row(struct bench *b, const char *name, struct samples *s, double most_ms)
{
    table_add(&b->table, &(struct row){
                             .name = name,
                             .p50_ms = samples_quantile(s, 0.5),
                             .p99_ms = samples_quantile(s, 0.99),
                             .best_ms = samples_quantile(s, 0),
                             .target = {most_ms > 0 ? TARGET_MOST_MS : TARGET_NONE, most_ms},
                         });
    samples_fini(s);
}

static void measure_returns(struct bench *b, struct party *on)
{
    struct samples deaths, after, rollbacks;
    samples_init(&deaths);
    samples_init(&after);
    samples_init(&rollbacks);
    on->request = ADD;
    on->expected = ADDED;
    for (int i = 0; i < DEATHS; i++) {
        call_on_the_beat(on);
        measure_wait_until_ms(measure_now_ms() + PACE_MS);
        samples_add(&deaths,
                    client_call(b, &on->server, EVALUATE("(sb-ext:exit :abort t)", ""), "continues from"));
        samples_add(&after, client_call(b, &on->server, ADD, ADDED));
    }
    for (int i = 0; i < DEATHS; i++) {
        call_on_the_beat(on);
        call_on_the_beat(on);
        measure_wait_until_ms(measure_now_ms() + PACE_MS);
        samples_add(&rollbacks,
                    client_call(b, &on->server, CALL("rollback-session", "\"to\":\"-1\""), "Returned"));
    }
    table_times(&b->table, "The way back", NULL);
    add_row(b, "(sb-ext:exit :abort t) until the session continues", &deaths, 50);
    add_row(b, "the evaluation after it", &after, 0);
    add_row(b, "rollback-session by one evaluation", &rollbacks, 0);
}

/* A server of its own: all processes except its zygote and session are the copies. */
static void measure_memory(struct bench *b)
{
    struct party on = {.b = b, .request = ADD, .expected = ADDED};
    struct memory before, after, copies;
    client_start(b, &on.server, "on", (const char *const[]){"--checkpoint-limit", "8", NULL}, NULL);
    client_call(b, &on.server, CALL("configure-limits", "\"checkpoint-limit\":0"), "checkpoint");
    for (int i = 0; i < CHECKPOINTS; i++)
        call_on_the_beat(&on);
    size_t none = memory_sum_children(on.server.pid, "sbcl", 0, &before);
    client_call(b, &on.server, CALL("configure-limits", "\"checkpoint-limit\":8"), "checkpoint");
    for (int i = 0; i < CHECKPOINTS; i++)
        call_on_the_beat(&on);
    measure_wait_until_ms(measure_now_ms() + 10 * PACE_MS);
    size_t all = memory_sum_children(on.server.pid, "sbcl", 0, &after);
    memory_sum_children(on.server.pid, "sbcl", none, &copies);
    char title[80];
    snprintf(title, sizeof title, "Memory of the %zu copies of an idle session", all - none);
    table_sizes(&b->table, title);
    table_add_size(&b->table, "private dirty and page tables of the copies",
                   copies.private_dirty_mib + copies.page_tables_mib, 12);
    table_add_size(&b->table, "page tables alone (kernel)", copies.page_tables_mib, 0);
    table_add_size(&b->table, "PSS and page tables of all, more than without copies",
                   after.pss_mib + after.page_tables_mib - before.pss_mib - before.page_tables_mib, 0);
    peer_stop(&on.server);
}

static void measure_saves(struct bench *b)
{
    struct peer server;
    struct samples saves, restores, after;
    char directory[DIRECTORY_SIZE];
    samples_init(&saves);
    samples_init(&restores);
    samples_init(&after);
    directory_make(directory);
    client_start(b, &server, "on", (const char *const[]){"--state-dir", directory, NULL}, NULL);
    client_call(b, &server, EVALUATE(DEFINITIONS("\\\""), ""), "=> BENCH-LINES");
    for (int i = 0; i < SAVES; i++) {
        samples_add(&saves, client_call(b, &server, CALL("save-session", ""), "Saved"));
        samples_add(&restores,
                    client_call(b, &server, CALL("restore-session", "\"name\":\"default\""), "Restored"));
        samples_add(&after, client_call(b, &server, EVALUATE("(length *bench-text*)", ""), "=> 100000"));
    }
    table_times(&b->table, "On disk, a session of a few definitions", NULL);
    add_row(b, "save-session", &saves, 2000);
    add_row(b, "restore-session", &restores, 100);
    add_row(b, "the evaluation after it", &after, 0);
    peer_stop(&server);
    directory_remove(directory);
}

static void run(struct bench *b)
{
    struct party on = {.b = b}, off = {.b = b};
    client_start(b, &on.server, "on", NULL, NULL);
    client_start(b, &off.server, "off", NULL, NULL);
    client_call(b, &on.server, ADD, ADDED);
    client_call(b, &off.server, ADD, ADDED);
    measure_calls(b, &on, &off);
    measure_returns(b, &on);
    peer_stop(&on.server);
    peer_stop(&off.server);
    measure_memory(b);
    measure_saves(b);
}

const struct suite suite_checkpoints = {"checkpoints", "what it costs that no state is lost", 0, run};
