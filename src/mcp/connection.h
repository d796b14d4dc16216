/*
 * One client: which era it speaks, its handshake, the requests under way, cancel, progress. Knows nothing of
 * how bytes travel.
 */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/transport.h"

struct toolbox;
struct connection;
struct extension;
struct revision;

struct connection_options {
    struct toolbox *toolbox;     /* borrowed, outlives the connection */
    const char *listing;         /* borrowed; as registry_listing() takes it, already checked */
    bool wants_structured;       /* --structured */
    const char *default_session; /* borrowed */
    bool initializes_once;       /* a second initialize is refused */
    bool is_stateless; /* many clients send through it: ids need be unique among those of one origin only */
    bool shows_log;    /* the client may see what the server logs; not where it would tell of others */
    const struct extension *extension; /* borrowed; NULL: none */
    transport_send *send;
    /* each request that came with ${origin} has been answered or given up; it is not mentioned again; NULL
       when there are no origins. Called at the end of connection_message(), or from the loop. The connection
       must not be freed in it. */
    void (*on_over)(void *arg, struct transport_origin *origin);
    void (*on_idle)(void *arg); /* no request is under way any more; may be NULL; called from the loop or from
                                   inside connection_message() */
    void (*on_handshake)(void *arg); /* notifications/initialized or the first tools/call arrived: a good
                                        moment to warm a Lisp; may be NULL */
    void *arg;
};

/* connection_new(options): options are copied. */
struct connection *connection_new(const struct connection_options *options);

/* connection_free(c): cancels what is under way, sends nothing more. */
void connection_free(struct connection *c);

/*
 * connection_message(c, origin, bytes, len):
 * Handle one message. Any bytes at all are fine. Each request in it is answered exactly once, now or later,
 * by send.
 *
 * origin      borrowed until on_over() or connection_abandon(), its headers are set; NULL: the transport has
 * none bytes       borrowed; may be changed in place
 */
void connection_message(struct connection *c, struct transport_origin *origin, char *bytes, size_t len);

/* connection_abandon(c, origin): give up the requests that came with it, without answers. No on_over()
 * follows. Not from inside connection_message(). */
void connection_abandon(struct connection *c, struct transport_origin *origin);

/* connection_revision(c): what the last initialize has agreed on; NULL before it. */
const struct revision *connection_revision(const struct connection *c);

/* connection_oversized(c): the transport dropped a message of more than TRANSPORT_MAX_MESSAGE bytes; answered
 * with an error, id null. */
void connection_oversized(struct connection *c);

/* connection_end(c): the server is going to end: answer what would stay open otherwise. Requests may be made
 * after it. */
void connection_end(struct connection *c);

/* connection_is_idle(c): no request is under way, but such as stay open until the client ends them. */
bool connection_is_idle(const struct connection *c);

#endif
