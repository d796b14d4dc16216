/*
 * Round trips and calls a second, the server and a bare Lisp in turns; once with all processes on one CPU.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "client.h"
#include "rounds.h"

#define ROUNDS 11
#define SLICE_MS 60 /* for each of the two, per figure and round */
#define LEAST_SAMPLES 5
#define IN_FLIGHT 64

struct figure {
    const char *name;
    const char *request;
    const char *expected;
    const char *prepare; /* a request before each round, or NULL */
    const char *bare;    /* the form for the bare Lisp, or NULL */
    const char *bare_expected;
    struct target target;
};

static const struct figure figures[] = {
    {"(+ 1 2)", ADD, ADDED, NULL, "(+ 1 2)", "3", {TARGET_MOST_TIMES, 5}},
    {"error (car 42), with its whole report",
     EVALUATE("(car 42)", ""),
     "[Backtrace]",
     NULL,
     "(car 42)",
     "TYPE-ERROR",
     {TARGET_MOST_MS, 0.37}},
    {"error three functions deep",
     EVALUATE("(bench-a 1)", ""),
     "(BENCH-C 1)",
     NULL,
     "(bench-a 1)",
     "no such item",
     {TARGET_MOST_MS, 0.37}},
    {"defun",
     EVALUATE("(defun bench-f (x) (* x 2))", ""),
     "=> BENCH-F",
     NULL,
     "(defun bench-f (x) (* x 2))",
     "BENCH-F",
     {TARGET_NONE, 0}},
    {"100 kB printed, 1,000 lines",
     EVALUATE("(bench-lines)", ",\"max-output\":200000"),
     "=> NIL",
     NULL,
     "(with-output-to-string (*standard-output*) (bench-lines))",
     "xxxx",
     {TARGET_NONE, 0}},
    {"100 kB value, one string",
     EVALUATE("*bench-text*", ",\"max-output\":200000"),
     "xxxx",
     NULL,
     "*bench-text*",
     "xxxx",
     {TARGET_NONE, 0}},
    {"describe-last-error",
     CALL("describe-last-error", ""),
     "TYPE-ERROR",
     EVALUATE("(car 42)", ""),
     NULL,
     NULL,
     {TARGET_NONE, 0}},
    {"tools/list", "\"tools/list\"", "evaluate-lisp", NULL, NULL, NULL, {TARGET_MOST_MS, 1}},
    {"ping", "\"ping\"", "\"result\"", NULL, NULL, NULL, {TARGET_NONE, 0}},
};

#define FIGURES (sizeof figures / sizeof figures[0])

struct pair {
    struct bench *b;
    struct peer server, bare;
    const struct figure *figure; /* the figure being measured */
};

static double one_call(void *arg)
{
    struct pair *p = arg;
    return client_call(p->b, &p->server, p->figure->request, p->figure->expected);
}

static double one_bare_call(void *arg)
{
    struct pair *p = arg;
    return bare_call(&p->bare, p->figure->bare, p->figure->bare_expected);
}

static void run_round(struct pair *p, const struct figure *f, struct rounds *r)
{
    const struct side one = {one_call, p}, other = {one_bare_call, p};
    p->figure = f;
    if (f->prepare != NULL)
        client_call(p->b, &p->server, f->prepare, "\"result\"");
    rounds_run(r, &one, f->bare != NULL ? &other : NULL, SLICE_MS, LEAST_SAMPLES);
}

/* Keep IN_FLIGHT requests in flight for one turn; returns calls a second. */
static double pipeline(struct bench *b, struct peer *p, bool is_bare)
{
    static const char form[] = "(+ 1 2)";
    size_t in_flight = 0, done = 0;
    double start = measure_now_ms(), now = start;
    bool is_over = false;
    while (!is_over || in_flight > 0) {
        strbuf_clear(&b->line);
        for (; !is_over && in_flight < IN_FLIGHT; in_flight++) {
            if (is_bare)
                strbuf_add(&b->line, form, sizeof form);
            else
                client_write_request(b, ADD);
        }
        client_send(b, p);
        size_t n = peer_receive_many(p, is_bare ? "3" : ADDED, in_flight);
        in_flight -= n;
        done += n;
        now = measure_now_ms();
        is_over = now - start >= SLICE_MS;
    }
    return (double)done * 1e3 / (now - start);
}

static void measure(struct bench *b, const char *times_title, const char *rates_title)
{
    struct pair p = {.b = b};
    struct rounds all[FIGURES], pipelined;
    bare_start(b, &p.bare);
    client_start(b, &p.server, b->checkpoints, NULL, NULL);
    client_call(b, &p.server, EVALUATE(DEFINITIONS("\\\""), ""), "=> BENCH-LINES");
    for (size_t i = 0; i < FIGURES; i++)
        rounds_init(&all[i]);
    rounds_init(&pipelined);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < FIGURES; i++)
            run_round(&p, &figures[i], &all[i]);
        double rate = pipeline(b, &p.server, false);
        rounds_add_rates(&pipelined, rate, pipeline(b, &p.bare, true));
    }
    table_times(&b->table, times_title, "bare");
    for (size_t i = 0; i < FIGURES; i++)
        rounds_print_times(&all[i], &b->table, figures[i].name, figures[i].target);
    table_rates(&b->table, rates_title, "bare");
    bool is_copied = strcmp(b->checkpoints, "on") == 0;
    rounds_print_rates(&all[0], &b->table, "(+ 1 2) in sequence",
                       (struct target){TARGET_LEAST_PER_SECOND, is_copied ? 3000 : 20000});
    rounds_print_rates(&pipelined, &b->table, "(+ 1 2) with 64 in flight", (struct target){TARGET_NONE, 0});
    for (size_t i = 0; i < FIGURES; i++)
        rounds_fini(&all[i]);
    rounds_fini(&pipelined);
    peer_stop(&p.server);
    peer_stop(&p.bare);
}

/*
 * On one CPU, a round trip is the work of all processes involved and the switches between them. If the
 * scheduler puts them on several, each wake-up of a sleeping CPU adds to it: that is what users experience,
 * and what varies most.
 */
static void measure_on_one_processor(struct bench *b)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        bench_fail("cannot learn the processors: %s", strerror(errno));
    size_t last = 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench_fail("cannot stay on one processor: %s", strerror(errno));
    measure(b, "Round trips, all on one processor", "Evaluations a second, all on one processor");
    sched_setaffinity(0, sizeof all, &all);
}

static void run(struct bench *b)
{
    measure_on_one_processor(b);
    measure(b, "Round trips, wherever the scheduler puts them", "Evaluations a second, wherever");
}

const struct suite suite_calls = {"calls", "round trips and calls a second, beside a bare Lisp", 0, run};
