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

struct batch;
struct client;
struct method;
struct outbox;
struct request;
struct requests;
struct revision;
struct transport_origin;

struct requests_options {
    struct outbox *outbox; /* borrowed, outlives the requests */
    bool is_stateless;     /* ids need to be unique among the requests of one origin only */

    /* Each request that came with ${origin} is over. NULL: there are no origins. */
    void (*on_over)(void *arg, struct transport_origin *origin);
    /* Called when the last request in progress has ended; may be NULL, and may free the requests. */
    void (*on_idle)(void *arg);
    void *arg;
};

/* requests_new(options): given; ${options} is copied. requests_free(rs): cancel what is in progress,
 * without answers; NULL does nothing. */
struct requests *requests_new(const struct requests_options *options);
void requests_free(struct requests *rs);

/*
 * requests_hold(rs, origin), requests_release(rs, origin):
 * Enclose the handling of a message: in between, neither on_over(${origin}) nor on_idle() is called. Not
 * nested.
 *
 * origin      NULL: the transport has none
 */
void requests_hold(struct requests *rs, struct transport_origin *origin);
void requests_release(struct requests *rs, struct transport_origin *origin);

/* requests_are_idle(rs): none is in progress, apart from those that stay open until their client ends
 * them. */
bool requests_are_idle(const struct requests *rs);

/* requests_have(rs, origin, id): one with that id is in progress. */
bool requests_have(const struct requests *rs, const struct transport_origin *origin, struct jsonrpc_slice id);

/* requests_have_room(rs, len): one whose message has ${len} bytes may be added. */
bool requests_have_room(const struct requests *rs, size_t len);

struct request_options {
    struct client *client;           /* borrowed, outlives the request */
    struct transport_origin *origin; /* borrowed until on_over(); NULL: the transport has none */
    struct batch *batch;             /* held by the request; NULL: not in a batch */
    const struct revision *revision;
    const struct method *method;
    struct jsonrpc_slice id;             /* copied; JSON text */
    struct jsonrpc_slice progress_token; /* likewise; none: no progress is wanted */
    size_t len;                          /* bytes of its message */
    int log_level;                       /* lines of the log that it wants, an enum log_level; -1: none */
    json_t *capabilities;                /* of its client; a reference is taken; NULL: not known */
};

/* request_new(rs, options): a request under way; whoever answers it frees it. */
struct request *request_new(struct requests *rs, const struct request_options *options);

/* requests_cancel(rs, id): end the request with that id without an answer; an unknown id is ignored.
 * requests_abandon(rs, origin): end all that came with it. */
void requests_cancel(struct requests *rs, struct jsonrpc_slice id);
void requests_abandon(struct requests *rs, struct transport_origin *origin);

/*
 * requests_refuse(rs, origin, batch, id, code, message, data):
 * Answer a message that did not become a request with an error.
 *
 * batch       NULL: it was not in one
 * data        JSON text, or NULL for no data member
 */
void requests_refuse(struct requests *rs, struct transport_origin *origin, struct batch *batch,
                     struct jsonrpc_slice id, enum jsonrpc_code code, const char *message, const char *data);

#endif
