/*
 * What connection.c and the methods share: a request under way, and how it is answered. Stays in this folder.
 *
 * A request is answered once, by request_finish(), request_fail() or request_fail_with(), which are in
 * request.h; each of them frees it.
 */
#ifndef MCP_CONNECTION_INTERNAL_H
#define MCP_CONNECTION_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "mcp/connection.h"
#include "mcp/extension.h"
#include "mcp/json_text.h"
#include "mcp/jsonrpc.h"
#include "mcp/methods.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/server_log.h"
#include "mcp/subscriptions.h"

/* So that a client that sends thousands of requests at once does not make us search them all for each. */
#define CONNECTION_BUCKETS 256

/* The member of _meta that says for which listen something is sent. */
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct batch;

struct request {
    struct list node;    /* in connection.requests, or in connection.streams */
    struct list same_id; /* in the bucket of its id */
    struct list same_origin;
    struct connection *connection;
    struct transport_origin *origin; /* NULL: the transport has none */
    struct batch *batch;             /* NULL: on its own */
    const struct revision *revision;
    const struct method *method;
    void *pending;                 /* what the method waits for; NULL: nothing */
    void (*cancel)(void *pending); /* request_await() */
    bool is_stream;                /* request_stays_open() */
    json_t *capabilities;          /* of its client, where there is an extension; NULL: not said */
    int log_level;                 /* the least of the log it is to be sent, an enum log_level; -1: nothing */
    int64_t progress_ms;           /* the last that was said; -1: none yet */
    size_t weight;                 /* bytes it is taken to occupy */
    struct jsonrpc_slice id;       /* both are as the client wrote them, in ${written} */
    struct jsonrpc_slice progress_token;
    char written[];
};

struct connection {
    struct connection_options options;
    const struct revision *negotiated;       /* by the last initialize; NULL before it */
    struct list requests;                    /* under way, the oldest first */
    struct list streams;                     /* those that stay open, which nobody waits for */
    struct list buckets[CONNECTION_BUCKETS]; /* the same, by their ids */
    size_t weight;                           /* of them all */
    bool is_handling;                        /* connection_message() is on the stack */
    bool owes_idle;                          /* the last request has ended; on_idle was not called yet */
    bool has_shaken_hands;                   /* on_handshake was called */
    char *listing;                           /* the text of the tools array; NULL until somebody asks */
    json_t *capabilities; /* of the client, by the last initialize; where there is an extension */
    struct subscriptions subscriptions;
    struct server_log log;
    struct json_text text; /* of the message being handled */
    struct strbuf out;     /* the message being written */
};

/* request_stays_open(r, pending, cancel): it is answered when the client or the server ends it; until then it
 * keeps nobody busy. */
void request_stays_open(struct request *r, void *pending, void (*cancel)(void *pending));

/* connection_cancel(c, id): give up the request of that id without an answer; an unknown id is ignored. */
void connection_cancel(struct connection *c, struct jsonrpc_slice id);

/* connection_notify(c, origin, text): send a notification; NULL for one that is about no request. */
void connection_notify(struct connection *c, struct transport_origin *origin, const struct strbuf *text);

/* connection_shake_hands(c): say on_handshake, the first time. */
void connection_shake_hands(struct connection *c);

#endif
