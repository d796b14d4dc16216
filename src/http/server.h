/*
 * MCP over Streamable HTTP, in the caller's loop: where it listens, whom it admits, and what each
 * request means.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"
#include "http/checks.h"
#include "http/principals.h"
#include "mcp/connection_options.h"

struct http_server;
struct listener;
struct toolbox;

struct http_server_options {
    uv_loop_t *loop;
    const char *const
        *addresses; /* as listener_open() takes them; NULL-terminated, like the lists below; all borrowed */
    struct listener *listener; /* one that is open already, beside the addresses; taken if the server is made;
                                  NULL: none */
    struct check_rules rules;  /* the server sets whose principals they are */
    struct principals_options principals; /* who may send requests */
    const char *tls_certificate_file;     /* PEM; NULL: no TLS */
    const char *tls_key_file;
    const char *node; /* prefix of session ids, by which a load balancer can route; NULL: none */
    struct connection_options connection; /* of each: the listing, wants_structured and the extension */
    /* the toolbox of a principal, made on first use; borrowed, outlives the server. "" is everybody, if a
     * request needs not say whose it is. */
    struct toolbox *(*toolbox)(void *arg, const char *principal);
    void (*on_handshake)(void *arg); /* called after a handshake: a good moment to start a Lisp */
    void *arg;
};

/* http_server_new(options, err): given, and listening; NULL with ${err} set. */
struct http_server *http_server_new(const struct http_server_options *options, struct err *err);

/* http_server_open_address(s): an address at which any process of this machine may connect and evaluate,
 * since there are no tokens or it may name any user; borrowed. NULL: none. */
const char *http_server_open_address(const struct http_server *s);

/* http_server_reload(s): read the token file and the keys of access tokens again. If one has an error, the
 * error is logged and what it said before remains. Requests and streams whose token is good no longer are
 * ended. */
void http_server_reload(struct http_server *s);

/* http_server_close(s, done, arg): accept no more connections, end what is in progress, send the answers,
 * then free ${s} and call ${done} from the loop. If ${s} is NULL, ${done} is called at once. A second call
 * stops waiting for answers and replaces ${done}. */
void http_server_close(struct http_server *s, void (*done)(void *arg), void *arg);

#endif
