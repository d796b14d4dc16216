/*
 * The latency of calls in a small session while others print or spin.
 */
#include "flock.h"

#define SPINNERS 50
#define SAMPLES 300

/* Call session 0 while the requests to the others are still unanswered. */
static void measure_small(struct bench *b, struct peer *server, const char *name)
{
    struct samples s;
    samples_init(&s);
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&s, flock_call(b, server, 0, "(+ 1 2)", ADDED));
    flock_print_calls(b, name, &s);
    samples_fini(&s);
}

/* Cancelled requests get no answer. */
static void cancel(struct bench *b, struct peer *server, const long *ids, long count)
{
    for (long i = 0; i < count; i++)
        strbuf_addf(
            &b->line,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%ld}}\n",
            ids[i]);
    client_send(b, server);
}

static void run(struct bench *b)
{
    struct peer server;
    char reason[400];
    long ids[SPINNERS];
    client_start(b, &server, b->checkpoints, NULL, NULL);
    if (flock_pipeline(b, &server, SPINNERS + 1, flock_write_create, "created", reason, sizeof reason) <
        SPINNERS + 1)
        bench_fail("cannot make the sessions: %s", reason);
    table_times(&b->table, "(+ 1 2) in a small session", NULL);
    measure_small(b, &server, "while the others are idle");
    ids[0] =
        flock_write_evaluate(b, 1, "(loop (write-string (make-string 4000 :initial-element #\\\\x)))", 600);
    client_send(b, &server);
    measure_small(b, &server, "while another floods its output");
    cancel(b, &server, ids, 1);
    flock_call(b, &server, 1, "(+ 1 2)", ADDED);
    ids[0] = flock_write_evaluate(b, 1, "(loop)", 600);
    client_send(b, &server);
    measure_small(b, &server, "while another spins");
    for (long i = 1; i < SPINNERS; i++)
        ids[i] = flock_write_evaluate(b, i + 1, "(loop)", 600);
    client_send(b, &server);
    measure_small(b, &server, "while 50 others spin");
    cancel(b, &server, ids, SPINNERS);
    flock_call(b, &server, SPINNERS, "(+ 1 2)", ADDED);
    peer_stop(&server);
}

const struct suite suite_fairness = {"fairness", "the calls of a small session while others print or spin", 0,
                                     run};
