/*
 * The requests in progress on one connection: which there are, which to cancel, how much memory they
 * occupy, and when the last of them has ended. Methods answer them by request.h.
 */
#ifndef MCP_REQUESTS_H
#define MCP_REQUESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp/jsonrpc.h"

#include "base/hash_table.h"
#include "base/list.h"

struct batch;
struct client;
struct method;
struct request;
struct revision;
struct transport_origin;

struct requests {
    struct list under_way; /* the oldest first */
    struct list streams;   /* requests that stay open, for which nothing waits */
    struct hash_table by_id;
    size_t weight;  /* bytes that they count as */
    bool is_held;   /* a message is being handled */
    bool owes_idle; /* the last has ended, but on_idle() was not called yet */
};

/* A message that has arrived, and what admission.c has found out about it if it is a request. */
struct arrival {
    struct client *client;
    struct transport_origin *origin; /* NULL: the transport has none */
    struct batch *batch;             /* NULL: it is not in one */
    size_t len;                      /* bytes of it */
    struct jsonrpc_slice id;         /* JSON text; none if it has no usable one */

    const struct revision *revision;
    const struct method *method;
    struct jsonrpc_slice progress_token; /* JSON text; none: no progress is wanted */
    int log_level;                       /* lines of the log that it wants, an enum log_level; -1: none */
    json_t *capabilities;                /* of its client, borrowed; NULL: not known */
};

/* requests_init(client), requests_fini(client): those of ${client}; the latter cancels what is in progress.
 */
void requests_init(struct client *client);
void requests_fini(struct client *client);

/*
 * requests_hold(client, origin), requests_release(client, origin):
 * Enclose the handling of a message: in between, neither on_over(${origin}) nor on_idle() is called. Not
 * nested.
 *
 * origin      NULL: the transport has none
 */
void requests_hold(struct client *client, struct transport_origin *origin);
void requests_release(struct client *client, struct transport_origin *origin);

/* requests_are_idle(client): none is in progress, apart from those that stay open until their client ends
 * them. */
bool requests_are_idle(const struct client *client);

/* requests_have(a): one with the id of ${a}, and of the same origin, is in progress. */
bool requests_have(const struct arrival *a);

/* requests_have_room(client, len): one whose message has ${len} bytes may be added. */
bool requests_have_room(const struct client *client, size_t len);

/* request_new(a): ${a} as a request under way, which has copies of its texts; whoever answers it frees it. */
struct request *request_new(const struct arrival *a);

/* requests_cancel(client, id): end the request with that id without an answer; an unknown id is ignored,
 * and so is one that several requests have.
 * requests_abandon(client, origin): end all that came with it, without answers and without on_over(); not
 * from inside connection_message(). */
void requests_cancel(struct client *client, struct jsonrpc_slice id);
void requests_abandon(struct client *client, struct transport_origin *origin);

/*
 * arrival_refuse(a, code, message, data):
 * Answer a message that does not become a request with an error.
 *
 * data        JSON text, or NULL for no data member
 */
void arrival_refuse(const struct arrival *a, enum jsonrpc_code code, const char *message, const char *data);

#endif
