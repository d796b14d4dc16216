/*
 * Many sessions in one server: how long creating them takes, what they cost, and, if fewer were created than
 * requested, why.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "memory.h"
#include "rounds.h"

#define SAMPLES 300

static double evaluate_in(struct bench *b, struct peer *server, long n)
{
    char request[200];
    snprintf(request, sizeof request,
             EVALUATE("(progn (defun f (x) (* x 2)) (f %ld))", ",\"session\":\"b%ld\""), n, n);
    return client_call(b, server, request, "=> ");
}

static void measure_memory(struct bench *b, const struct peer *server, long sessions)
{
    struct memory m, sum, one;
    char title[80];
    size_t n = memory_sum_children(server->pid, 0, &sum);
    memory_sum_children(server->pid, n - 1, &one);
    if (!memory_read(server->pid, &m))
        bench_fail("cannot read the memory of the server");
    snprintf(title, sizeof title, "Memory of %zu Lisp processes", n);
    table_sizes(&b->table, title);
    table_add_size(&b->table, "PSS of all, server included", sum.pss_mib + m.pss_mib,
                   1536.0 * (double)sessions / 1000);
    table_add_size(&b->table, "PSS of a session", sum.pss_mib / (double)sessions, 1.5);
    table_add_size(&b->table, "private dirty of a session", one.private_dirty_mib, 0);
    table_add_size(&b->table, "page tables of all (kernel)", sum.page_tables_mib, 0);
    table_add_size(&b->table, "server, PSS", m.pss_mib, 10);
    struct peer bare;
    bare_start(b, &bare);
    if (memory_read(bare.pid, &m))
        table_add_size(&b->table, "bare SBCL, PSS, to compare", m.pss_mib, 0);
    peer_stop(&bare);
}

static void run(struct bench *b)
{
    struct peer server;
    char request[200], title[80];
    struct samples made = {0}, calls = {0}, all = {0};
    long n = 0;
    client_start(b, &server, b->server_path, b->checkpoints, NULL);
    double start = measure_now_ms();
    for (; n < b->count; n++) {
        snprintf(request, sizeof request, CALL("create-session", "\"name\":\"b%ld\""), n);
        double took = client_call(b, &server, request, "\"result\"");
        if (strstr(server.received.bytes, "\"isError\":true") != NULL) {
            table_miss(&b->table, server.received.bytes);
            break;
        }
        samples_add(&made, took + evaluate_in(b, &server, n));
    }
    samples_add(&all, measure_now_ms() - start);
    for (int i = 0; i < SAMPLES && n > 0; i++)
        samples_add(&calls, evaluate_in(b, &server, (long)i * 7919 % n));
    snprintf(title, sizeof title, "%ld sessions, checkpoints %s", n, b->checkpoints);
    table_times(&b->table, title, NULL);
    samples_print(&made, &b->table, "create-session and a first evaluation", 2);
    samples_print(&all, &b->table, "all of them", 2 * (double)n);
    samples_print(&calls, &b->table, "an evaluation here and there", 0);
    measure_memory(b, &server, n);
    peer_stop(&server);
}

const struct suite suite_sessions = {"sessions", "many sessions in one server, --count of them", run};
