/*
 * The same server over HTTP and over its standard input and output, in turns; and many connections at once.
 * Of HTTP/1.1 only what the server's plain answers need: a status, headers, Content-Length.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "rounds.h"

#define READ_AT_ONCE ((size_t)64 << 10)
#define ROUNDS 11
#define SLICE_MS 60
#define CONNECTIONS 64
#define CROWD_ROUNDS 5
#define CROWD_MS 500

#define META                                                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                 \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define TOOL(name, more, arguments)                                                                          \
    "Mcp-Method: tools/call\r\nMcp-Name: " name "\r\n" more,                                                 \
        "\"tools/call\",\"params\":{" META ",\"name\":\"" name "\",\"arguments\":{" arguments "}}"

#define SESSION "Mcp-Param-Session: b00\r\n"

/* A request over HTTP, whose method is in headers too. "b00" is a session, a connection's own. */
struct figure {
    const char *name, *headers, *request, *expected;
};

static const struct figure create = {"", TOOL("create-session", SESSION, "\"name\":\"b00\""), "created"};
static const struct figure figures[] = {
    {"(+ 1 2)", TOOL("evaluate-lisp", "", "\"code\":\"(+ 1 2)\""), "=> 3"},
    {"(+ 1 2), each in a session of its own",
     TOOL("evaluate-lisp", SESSION, "\"code\":\"(+ 1 2)\",\"session\":\"b00\""), "=> 3"},
    {"tools/list", "Mcp-Method: tools/list\r\n", "\"tools/list\",\"params\":{" META "}", "evaluate-lisp"},
};

#define FIGURES (sizeof figures / sizeof figures[0])

struct connection {
    int fd;
    struct strbuf request, received;
    const char *expected;
};

struct pair {
    struct bench *b;
    struct peer server;
    struct connection over_http;
};

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int free_port(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        bench_fail("cannot find a port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

static void connection_open(struct connection *c, int port)
{
    struct sockaddr_in address = loopback(port);
    int on = 1;
    *c = (struct connection){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    strbuf_init(&c->request, 0);
    strbuf_init(&c->received, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
        bench_fail("cannot connect to port %d: %s", port, strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void connection_close(struct connection *c)
{
    close(c->fd);
    strbuf_fini(&c->request);
    strbuf_fini(&c->received);
}

static void connection_prepare(struct connection *c, const struct figure *f, int n)
{
    static const char before[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":";
    strbuf_clear(&c->request);
    strbuf_addf(&c->request,
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                "%sContent-Length: %zu\r\n\r\n%s%s}",
                f->headers, sizeof before + strlen(f->request), before, f->request);
    for (char *session = c->request.bytes; (session = strstr(session, "b00")) != NULL; session += 3) {
        session[1] = (char)('0' + n / 10);
        session[2] = (char)('0' + n % 10);
    }
    c->expected = f->expected;
}

static void connection_send(struct connection *c)
{
    strbuf_clear(&c->received);
    if (send(c->fd, c->request.bytes, c->request.len, MSG_NOSIGNAL) != (ssize_t)c->request.len)
        bench_fail("the server does not read from a connection: %s", strerror(errno));
}

/* Read what has arrived, waiting for something; whether the answer is complete. */
static bool connection_receive(struct connection *c)
{
    ssize_t n = recv(c->fd, strbuf_reserve(&c->received, READ_AT_ONCE), READ_AT_ONCE - 1, 0);
    if (n <= 0)
        bench_fail("the server closed a connection in the middle of a figure");
    strbuf_added(&c->received, (size_t)n);
    c->received.bytes[c->received.len] = '\0';
    const char *head = c->received.bytes, *end = strstr(head, "\r\n\r\n");
    const char *length = end == NULL ? NULL : strcasestr(head, "Content-Length:");
    if (end == NULL || (length != NULL && strlen(end + 4) < strtoul(length + 15, NULL, 10)))
        return false;
    if (strncmp(head, "HTTP/1.1 20", 11) != 0 || length == NULL || strstr(end, c->expected) == NULL)
        bench_fail("the server answered without '%s' over HTTP: %.500s", c->expected, head);
    return true;
}

static double call_over_http(void *arg)
{
    struct pair *p = arg;
    double start = measure_now_ms();
    connection_send(&p->over_http);
    while (!connection_receive(&p->over_http))
        ;
    return measure_now_ms() - start;
}

static double call_over_stdio(void *arg)
{
    struct pair *p = arg;
    return client_call(p->b, &p->server, ADD, ADDED);
}

static void measure_round_trips(struct pair *p)
{
    const struct side one = {call_over_http, p}, other = {call_over_stdio, p};
    struct rounds r = {0};
    connection_prepare(&p->over_http, &figures[0], 0);
    for (int round = 0; round < ROUNDS; round++)
        rounds_run(&r, &one, &other, SLICE_MS, 5);
    table_times(&p->b->table, "Round trips over HTTP, one connection kept open", "stdio");
    rounds_print_times(&r, &p->b->table, figures[0].name, (struct target){TARGET_MOST_TIMES, 2});
    rounds_fini(&r);
}

/* Each connection sends its next request once it has its answer; returns answers a second. */
static double run_crowd(struct connection *crowd, int poll)
{
    struct epoll_event ready[CONNECTIONS];
    size_t done = 0, in_flight = CONNECTIONS;
    double start = measure_now_ms(), now = start;
    for (size_t i = 0; i < CONNECTIONS; i++)
        connection_send(&crowd[i]);
    while (in_flight > 0) {
        int n = epoll_wait(poll, ready, CONNECTIONS, -1);
        for (int i = 0; i < n; i++) {
            struct connection *c = ready[i].data.ptr;
            if (!connection_receive(c))
                continue;
            done++;
            if (now - start < CROWD_MS)
                connection_send(c);
            else
                in_flight--;
        }
        now = measure_now_ms();
    }
    return (double)done * 1e3 / (now - start);
}

static void measure_crowds(struct pair *p, int port)
{
    struct connection crowd[CONNECTIONS];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &crowd[i]};
        connection_open(&crowd[i], port);
        connection_prepare(&crowd[i], &create, i);
        connection_send(&crowd[i]);
        while (!connection_receive(&crowd[i]))
            ;
        if (epoll_ctl(poll, EPOLL_CTL_ADD, crowd[i].fd, &event) != 0)
            bench_fail("cannot wait for a connection: %s", strerror(errno));
    }
    table_rates(&p->b->table, "64 connections, one request each on its way", NULL);
    for (size_t f = 0; f < FIGURES; f++) {
        struct rounds r = {0};
        for (int i = 0; i < CONNECTIONS; i++)
            connection_prepare(&crowd[i], &figures[f], i);
        for (int i = 0; i < CROWD_ROUNDS; i++)
            rounds_add_rate(&r, run_crowd(crowd, poll));
        rounds_print_rates(&r, &p->b->table, figures[f].name, (struct target){TARGET_LEAST_PER_SECOND, 3000});
        rounds_fini(&r);
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        connection_close(&crowd[i]);
    close(poll);
}

static void run(struct bench *b)
{
    struct pair p = {.b = b};
    char where[32];
    int port = free_port();
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    client_start(b, &p.server, b->server_path, b->checkpoints,
                 (const char *const[]){"--stdio", "--http", where, NULL});
    client_call(b, &p.server, ADD, ADDED);
    connection_open(&p.over_http, port);
    measure_round_trips(&p);
    measure_crowds(&p, port);
    connection_close(&p.over_http);
    peer_stop(&p.server);
}

const struct suite suite_http = {"http", "round trips over HTTP, beside stdio; 64 connections", run};
