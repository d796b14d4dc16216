/*
 * A client over HTTP on a raw socket that stays open: one request at a time, and only the part of HTTP that
 * the server's plain answers need.
 */
#ifndef BENCH_HTTP_CLIENT_H
#define BENCH_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define HTTP_SESSION_ID_SIZE 128

struct http_client {
    int fd;
    struct strbuf request, received;
    size_t delivered;                      /* of what was received, by the last http_client_try() */
    char session_id[HTTP_SESSION_ID_SIZE]; /* of a client that shook hands; else "" */
};

/* http_client_free_port(): a port of 127.0.0.1 on which nobody listens at the moment. */
int http_client_free_port(void);

/* http_client_open(c, port): connect. http_client_close(c). */
void http_client_open(struct http_client *c, int port);
void http_client_close(struct http_client *c);

/* http_client_shake_hands(c): the handshake of 2025-11-25. Later requests belong to that session. */
void http_client_shake_hands(struct http_client *c);

/*
 * http_client_write(c, method, tool, body):
 * Make a request with ${body}; its headers are those of 2025-11-25 after a handshake, else of 2026-07-28.
 *
 * tool  NULL, or the tool that is called
 */
void http_client_write(struct http_client *c, const char *method, const char *tool, const char *body);

/* http_client_send(c): send what was written; may be repeated. */
void http_client_send(struct http_client *c);

/* http_client_try(c, &len): read once; the body of the answer, borrowed until the next call, or NULL if it is
 * not complete. http_client_receive(c, &len): wait for it. */
const char *http_client_try(struct http_client *c, size_t *len);
const char *http_client_receive(struct http_client *c, size_t *len);

#endif
