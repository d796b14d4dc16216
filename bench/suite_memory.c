/*
 * The cost of a new session: time, and memory while it is idle.
 */
#include "client.h"
#include "measure.h"
#include "memory.h"

#define SESSIONS 200

static void measure_memory(struct bench *b, const struct peer *server)
{
    pid_t lisps[SESSIONS + 8];
    struct memory m, sum = {0};
    size_t n = memory_children(server->pid, "sbcl", lisps, SESSIONS + 8), counted = 0;
    table_sizes(&b->table, "Memory with 200 sessions");
    if (!memory_read(server->pid, &m) || n < SESSIONS)
        bench_fail("cannot read the memory of the server and its %zu Lisps", n);
    table_add_size(&b->table, "server, RSS", m.rss_mib, 0);
    table_add_size(&b->table, "server, PSS", m.pss_mib, 10);
    if (memory_read(lisps[0], &m)) {
        table_add_size(&b->table, "zygote, RSS (the core file's pages too)", m.rss_mib, 0);
        table_add_size(&b->table, "zygote, PSS", m.pss_mib, 0);
    }
    for (size_t i = n - SESSIONS; i < n; i++) {
        if (!memory_read(lisps[i], &m))
            continue;
        counted++;
        memory_sum(&sum, &m);
    }
    double count = counted > 0 ? (double)counted : 1;
    table_add_size(&b->table, "idle session, private dirty", sum.private_dirty_mib / count, 0);
    table_add_size(&b->table, "idle session, PSS", sum.pss_mib / count, 1.5);
    table_add_size(&b->table, "idle session, page tables (kernel)", sum.page_tables_mib / count, 0);
    struct peer bare;
    bare_start(b, &bare);
    if (memory_read(bare.pid, &m))
        table_add_size(&b->table, "bare SBCL, private dirty, to compare", m.private_dirty_mib, 0);
    peer_stop(&bare);
}

static void run(struct bench *b)
{
    struct peer server;
    struct samples both;
    struct strbuf request;
    samples_init(&both);
    strbuf_init(&request, 0);
    client_start(b, &server, b->checkpoints, NULL, NULL);
    client_call(b, &server, ADD, ADDED);
    for (int i = 0; i < SESSIONS; i++) {
        strbuf_clear(&request);
        strbuf_addf(&request, CALL("create-session", "\"name\":\"b%d\""), i);
        double ms = client_call(b, &server, strbuf_string(&request), "created");
        strbuf_clear(&request);
        strbuf_addf(&request, EVALUATE("(+ 1 2)", ",\"session\":\"b%d\""), i);
        samples_add(&both, ms + client_call(b, &server, strbuf_string(&request), ADDED));
    }
    table_times(&b->table, "New session", NULL);
    table_add(&b->table, &(struct row){
                             .name = "create-session and first evaluation, 200 times",
                             .p50_ms = samples_quantile(&both, 0.5),
                             .p99_ms = samples_quantile(&both, 0.99),
                             .best_ms = samples_quantile(&both, 0),
                             .target = {TARGET_MOST_MS, 2},
                         });
    measure_memory(b, &server);
    peer_stop(&server);
    strbuf_fini(&request);
    samples_fini(&both);
}

const struct suite suite_memory = {"memory", "time and memory of a new session", 0, run};
