/*
 * The cost of the sandbox: two servers in turns, one with --sandbox workspace and one without.
 */
#include "client.h"
#include "directory.h"
#include "rounds.h"

#define ROUNDS 11
#define SLICE_MS 100
#define LEAST_SAMPLES 20
#define STARTS 15

struct party {
    struct bench *b;
    const char *const *options;
    struct peer server;
    const char *request, *expected;
};

static const struct figure {
    const char *name, *request, *expected;
    struct target target;
} figures[] = {
    {"(+ 1 2)", ADD, ADDED, {TARGET_MOST_TIMES, 1.1}},
    {"error (car 42), with its whole report", EVALUATE("(car 42)", ""), "[Backtrace]", {TARGET_NONE, 0}},
    {"a file of the project opened and read",
     EVALUATE("(with-open-file (s \\\"bench.txt\\\" :direction :io :if-exists :overwrite "
              ":if-does-not-exist :create) (read-line s nil 5))",
              ""),
     "=> ",
     {TARGET_NONE, 0}},
    {"a program, (run-program \"/bin/true\")",
     EVALUATE("(sb-ext:process-exit-code (sb-ext:run-program \\\"/bin/true\\\" nil))", ""),
     "=> 0",
     {TARGET_NONE, 0}},
};

#define FIGURES (sizeof figures / sizeof figures[0])

static double one_call(void *arg)
{
    struct party *p = arg;
    return client_call(p->b, &p->server, p->request, p->expected);
}

static double one_start(struct party *p)
{
    struct peer server;
    double start = measure_now_ms();
    client_start(p->b, &server, p->b->checkpoints, p->options, NULL);
    client_call(p->b, &server, ADD, ADDED);
    double took = measure_now_ms() - start;
    peer_stop(&server);
    return took;
}

static void measure_calls(struct bench *b, struct party *in, struct party *out)
{
    const struct side one = {one_call, in}, other = {one_call, out};
    struct rounds all[FIGURES];
    client_start(b, &in->server, b->checkpoints, in->options, NULL);
    client_start(b, &out->server, b->checkpoints, out->options, NULL);
    for (size_t i = 0; i < FIGURES; i++)
        rounds_init(&all[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < FIGURES; i++) {
            in->request = out->request = figures[i].request;
            in->expected = out->expected = figures[i].expected;
            rounds_run(&all[i], &one, &other, SLICE_MS, LEAST_SAMPLES);
        }
    }
    table_times(&b->table, "Round trips in the sandbox", "without");
    for (size_t i = 0; i < FIGURES; i++) {
        rounds_print_times(&all[i], &b->table, figures[i].name, figures[i].target);
        rounds_fini(&all[i]);
    }
    peer_stop(&in->server);
    peer_stop(&out->server);
}

static void measure_starts(struct bench *b, struct party *in, struct party *out)
{
    struct rounds starts;
    struct samples more;
    rounds_init(&starts);
    samples_init(&more);
    for (int i = 0; i < STARTS; i++) {
        double with = one_start(in), without = one_start(out);
        rounds_add_times(&starts, with, without);
        samples_add(&more, with - without);
    }
    table_times(&b->table, "From the start to the first value in the sandbox", "without");
    rounds_print_times(&starts, &b->table, "core cached", (struct target){TARGET_NONE, 0});
    table_add(&b->table, &(struct row){
                             .name = "how much longer than without",
                             .p50_ms = samples_quantile(&more, 0.5),
                             .p99_ms = samples_quantile(&more, 0.99),
                             .best_ms = samples_quantile(&more, 0),
                             .target = {TARGET_MOST_MS, 10},
                         });
    rounds_fini(&starts);
    samples_fini(&more);
}

static void run(struct bench *b)
{
    char project[DIRECTORY_SIZE];
    directory_make(project);
    const char *const inside[] = {"--directory", project, "--sandbox", "workspace", NULL};
    const char *const outside[] = {"--directory", project, NULL};
    struct party in = {.b = b, .options = inside}, out = {.b = b, .options = outside};
    measure_calls(b, &in, &out);
    measure_starts(b, &in, &out);
    directory_remove(project);
}

const struct suite suite_sandbox = {"sandbox", "round trips and starts in the sandbox, beside none", 0, run};
