/*
 * MCP over Streamable HTTP, in the loop of the caller: where it listens, who may come in, and what each
 * request means.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"

struct extension;
struct http_server;
struct toolbox;

struct http_server_options {
    uv_loop_t *loop;
    const char *const
        *addresses; /* as listener_open() takes them; NULL-terminated, like the lists below; all borrowed */
    const char *const *allowed_hosts;
    const char *const *allowed_origins;
    const char *const *cors_origins;
    const char *token_file;           /* NULL: anybody who reaches us may come in */
    const char *tls_certificate_file; /* PEM; NULL: no TLS */
    const char *tls_key_file;
    const char *node; /* what the ids of sessions begin with, so that a balancer can tell servers apart; NULL:
                         nothing */
    const char *listing; /* as registry_listing() takes it, already checked */
    bool wants_structured;
    const struct extension *extension; /* of each connection; NULL: none */
    /* the toolbox of a principal, made when it is first asked for; borrowed, outlives the server. "" is
       anybody, where there are no tokens. */
    struct toolbox *(*toolbox)(void *arg, const char *principal);
    void (*on_handshake)(void *arg); /* a good moment to warm a Lisp */
    void *arg;
};

/* http_server_new(options, err): listens when it returns; NULL with ${err} set. */
struct http_server *http_server_new(const struct http_server_options *options, struct err *err);

/* http_server_reload(s): read the token file again; what is wrong with it is logged, and changes nothing. Who
 * has no token any more is not answered any more. */
void http_server_reload(struct http_server *s);

/* http_server_close(s, done, arg): accept nobody, end what is under way, let the answers go out, free it;
 * ${done} is called from the loop. Harmless for NULL, where it is called at once. Called again, it waits for
 * nothing more, and the new ${done} counts. */
void http_server_close(struct http_server *s, void (*done)(void *arg), void *arg);

#endif
