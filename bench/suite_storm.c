/*
 * Many errors in a row, and whether memory grows with them.
 */
#include "client.h"
#include "measure.h"
#include "memory.h"

#define STORM 10000

struct footprint {
    struct memory server, session;
};

static void read_footprint(struct bench *b, struct peer *server, struct footprint *f)
{
    pid_t lisps[64];
    /* Garbage is not growth. */
    client_call(b, server, EVALUATE("(gc :full t)", ""), "=> NIL");
    size_t n = memory_children(server->pid, "sbcl", lisps, 64);
    if (n < 2 || !memory_read(server->pid, &f->server) || !memory_read(lisps[1], &f->session))
        bench_fail("cannot read the memory of the server and its session");
}

static void run(struct bench *b)
{
    struct peer server;
    struct footprint before, after;
    client_start(b, &server, b->checkpoints, NULL, NULL);
    for (int i = 0; i < 100; i++)
        client_call(b, &server, EVALUATE("(car 42)", ""), "[Backtrace]");
    read_footprint(b, &server, &before);
    double start = measure_now_ms();
    for (int i = 0; i < STORM; i++)
        client_call(b, &server, EVALUATE("(car 42)", ""), "[Backtrace]");
    double ms = measure_now_ms() - start;
    read_footprint(b, &server, &after);
    table_rates(&b->table, "Error storm", NULL);
    table_add(&b->table, &(struct row){.name = "10,000 errors in sequence", .per_second = STORM * 1e3 / ms});
    table_sizes(&b->table, "Memory around the error storm");
    table_add_size(&b->table, "server, RSS before", before.server.rss_mib, 0);
    table_add_size(&b->table, "server, RSS after", after.server.rss_mib, 0);
    table_add_size(&b->table, "session, private dirty before", before.session.private_dirty_mib, 0);
    table_add_size(&b->table, "session, private dirty after", after.session.private_dirty_mib, 0);
    peer_stop(&server);
}

const struct suite suite_storm = {"storm", "10,000 errors in a row, and what they leave behind", 0, run};
