/*
 * The same server over HTTP and over its standard input and output, in turns; and many connections at once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client.h"
#include "http_client.h"
#include "rounds.h"

#define ROUNDS 11
#define SLICE_MS 60
#define LEAST_SAMPLES 5
#define CONNECTIONS 64
#define CROWD_ROUNDS 5
#define CROWD_MS 500

#define MODERN_META                                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                 \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define BODY(request) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":" request "}"

static const char ping[] = BODY("\"ping\"");
static const char add_legacy[] = BODY(ADD);
static const char add_modern[] = BODY(
    "\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"(+ 1 2)\"}," MODERN_META
    "}");
static const char list_modern[] = BODY("\"tools/list\",\"params\":{" MODERN_META "}");

struct figure {
    const char *name;
    bool is_modern;
    const char *method, *tool, *body; /* over HTTP */
    const char *request;              /* over standard input */
    const char *expected;
    double most_times;
};

static const struct figure figures[] = {
    {"(+ 1 2), 2026-07-28", true, "tools/call", "evaluate-lisp", add_modern, ADD, ADDED, 2},
    {"(+ 1 2), 2025-11-25", false, "tools/call", "evaluate-lisp", add_legacy, ADD, ADDED, 2},
    {"tools/list, 2026-07-28", true, "tools/list", NULL, list_modern, "\"tools/list\"", "evaluate-lisp", 0},
    {"ping, 2025-11-25", false, "ping", NULL, ping, "\"ping\"", "\"result\"", 2},
};

#define FIGURES (sizeof figures / sizeof figures[0])

struct pair {
    struct bench *b;
    struct peer server;
    struct http_client modern, legacy;
    const struct figure *figure; /* whose turn it is */
};

static void verify(const char *body, size_t len, const char *expected)
{
    if (memmem(body, len, expected, strlen(expected)) == NULL)
        bench_fail("answered without '%s' over HTTP: %.*s", expected, (int)(len < 500 ? len : 500), body);
}

static double call_over_http(void *arg)
{
    struct pair *p = arg;
    struct http_client *c = p->figure->is_modern ? &p->modern : &p->legacy;
    http_client_write(c, p->figure->method, p->figure->tool, p->figure->body);
    double start = measure_now_ms();
    http_client_send(c);
    size_t len;
    const char *body = http_client_receive(c, &len);
    double end = measure_now_ms();
    verify(body, len, p->figure->expected);
    return end - start;
}

static double call_over_stdio(void *arg)
{
    struct pair *p = arg;
    return client_call(p->b, &p->server, p->figure->request, p->figure->expected);
}

static void measure_round_trips(struct pair *p)
{
    const struct side one = {call_over_http, p}, other = {call_over_stdio, p};
    struct rounds all[FIGURES];
    for (size_t i = 0; i < FIGURES; i++)
        rounds_init(&all[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < FIGURES; i++) {
            p->figure = &figures[i];
            rounds_run(&all[i], &one, &other, SLICE_MS, LEAST_SAMPLES);
        }
    }
    table_times(&p->b->table, "Round trips over HTTP, one connection kept open", "stdio");
    for (size_t i = 0; i < FIGURES; i++) {
        double most = figures[i].most_times;
        rounds_print_times(&all[i], &p->b->table, figures[i].name,
                           (struct target){most > 0 ? TARGET_MOST_TIMES : TARGET_NONE, most});
        rounds_fini(&all[i]);
    }
}

/* Each connection sends its next request once it has its answer; returns answers a second. */
static double run_crowd(struct http_client *crowd, int poll, const char *expected)
{
    struct epoll_event ready[CONNECTIONS];
    size_t done = 0, in_flight = CONNECTIONS;
    double start = measure_now_ms(), now = start, end = start;
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_send(&crowd[i]);
    while (in_flight > 0) {
        int n = epoll_wait(poll, ready, CONNECTIONS, -1);
        for (int i = 0; i < n; i++) {
            struct http_client *c = ready[i].data.ptr;
            size_t len;
            const char *body = http_client_try(c, &len);
            if (body == NULL)
                continue;
            verify(body, len, expected);
            done++;
            if (now - start < CROWD_MS)
                http_client_send(c);
            else
                in_flight--;
        }
        end = now = measure_now_ms();
    }
    return (double)done * 1e3 / (end - start);
}

static void measure_crowd(struct bench *b, struct http_client *crowd, int poll, const struct figure *f,
                          double least)
{
    struct rounds r;
    rounds_init(&r);
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_write(&crowd[i], f->method, f->tool, f->body);
    for (int i = 0; i < CROWD_ROUNDS; i++)
        rounds_add_rates(&r, run_crowd(crowd, poll, f->expected), 0);
    rounds_print_rates(&r, &b->table, f->name, (struct target){TARGET_LEAST_PER_SECOND, least});
    rounds_fini(&r);
}

static void open_crowd(struct http_client *crowd, int poll, int port)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &crowd[i]};
        http_client_open(&crowd[i], port);
        if (epoll_ctl(poll, EPOLL_CTL_ADD, crowd[i].fd, &event) != 0)
            bench_fail("cannot wait for a connection: %s", strerror(errno));
    }
}

static void measure_crowds(struct bench *b, int port)
{
    static const struct figure shared = {
        "(+ 1 2), all in one session", true, "tools/call", "evaluate-lisp", add_modern, NULL, ADDED, 0};
    static const struct figure own = {"(+ 1 2), each in a session of its own",
                                      false,
                                      "tools/call",
                                      "evaluate-lisp",
                                      add_legacy,
                                      NULL,
                                      ADDED,
                                      0};
    static const struct figure pings = {"ping", false, "ping", NULL, ping, NULL, "\"result\"", 0};
    struct http_client crowd[CONNECTIONS];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    open_crowd(crowd, poll, port);
    table_rates(&b->table, "64 connections, one request each on its way", NULL);
    measure_crowd(b, crowd, poll, &shared, 3000);
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_shake_hands(&crowd[i]);
    measure_crowd(b, crowd, poll, &own, 3000);
    measure_crowd(b, crowd, poll, &pings, 5000);
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_close(&crowd[i]);
    close(poll);
}

static void run(struct bench *b)
{
    struct pair p = {.b = b};
    char where[32];
    int port = http_client_free_port();
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    client_start(b, &p.server, b->checkpoints, (const char *const[]){"--stdio", "--http", where, NULL}, NULL);
    client_call(b, &p.server, ADD, ADDED);
    http_client_open(&p.modern, port);
    http_client_open(&p.legacy, port);
    http_client_shake_hands(&p.legacy);
    measure_round_trips(&p);
    http_client_close(&p.modern);
    http_client_close(&p.legacy);
    measure_crowds(b, port);
    peer_stop(&p.server);
}

const struct suite suite_http = {
    "http", "round trips over HTTP, beside standard input and output; 64 connections", 0, run};
