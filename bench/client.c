/*
 * The server and the bare Lisp, as their client sees them.
 */
#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define ARGUMENTS 24

static const char initialize[] =
    "\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/* How the server's notifications begin. */
static const char notification[] = "{\"jsonrpc\":\"2.0\",\"method\"";

static const char bare_definitions[] = DEFINITIONS("\"");

void client_write_request(struct bench *b, const char *request)
{
    strbuf_addf(&b->line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":%s}\n", ++b->last_id, request);
}

void client_send(struct bench *b, struct peer *server)
{
    peer_send(server, b->line.bytes, b->line.len);
    strbuf_clear(&b->line);
}

void client_verify(const struct peer *p, const char *reply, size_t len, const char *expected)
{
    if (memmem(reply, len, expected, strlen(expected)) == NULL)
        bench_fail("%s answered without '%s': %.*s", p->name, expected, (int)(len < 500 ? len : 500), reply);
}

double client_call(struct bench *b, struct peer *server, const char *request, const char *expected)
{
    strbuf_clear(&b->line);
    client_write_request(b, request);
    double start = measure_now_ms();
    client_send(b, server);
    size_t len;
    const char *reply = peer_receive(server, &len);
    double end = measure_now_ms();
    client_verify(server, reply, len, expected);
    return end - start;
}

const char *client_reply(const struct peer *server, size_t *len)
{
    *len = server->delivered - 1;
    return server->received.bytes;
}

double client_number(const struct peer *server, const char *mark)
{
    size_t len;
    const char *reply = client_reply(server, &len);
    const char *at = memmem(reply, len, mark, strlen(mark));
    return at == NULL ? -1 : strtod(at + strlen(mark), NULL);
}

static void start(struct bench *b, struct peer *server, const char *path, const char *checkpoints,
                  const char *const *more, const char *const *environment)
{
    const char *argv[ARGUMENTS] = {path, "--no-userinit", "--checkpoints", checkpoints, "--lisp", b->lisp};
    size_t n = 6;
    while (more != NULL && *more != NULL && n < ARGUMENTS - 1)
        argv[n++] = *more++;
    peer_start(server, "the server", argv, environment, '\n');
    server->ignored = notification;
    client_call(b, server, initialize, "\"protocolVersion\"");
    peer_send(server, initialized, sizeof initialized - 1);
}

void client_start(struct bench *b, struct peer *server, const char *checkpoints, const char *const *more,
                  const char *const *environment)
{
    start(b, server, b->server_path, checkpoints, more, environment);
}

void client_start_program(struct bench *b, struct peer *server, const char *path,
                          const char *const *environment)
{
    start(b, server, path, b->checkpoints, NULL, environment);
}

void bare_start(struct bench *b, struct peer *bare)
{
    const char *const argv[] = {b->lisp, "--script", b->bare_path, NULL};
    peer_start(bare, "the bare Lisp", argv, NULL, '\0');
    bare_call(bare, bare_definitions, "BENCH-LINES");
}

double bare_call(struct peer *bare, const char *form, const char *expected)
{
    double start_ms = measure_now_ms();
    peer_send(bare, form, strlen(form) + 1);
    size_t len;
    const char *reply = peer_receive(bare, &len);
    double end_ms = measure_now_ms();
    client_verify(bare, reply, len, expected);
    return end_ms - start_ms;
}
