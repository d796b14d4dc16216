/*
 * What the owner of a connection decides about it.
 */
#ifndef MCP_CONNECTION_OPTIONS_H
#define MCP_CONNECTION_OPTIONS_H

#include <stdbool.h>

#include "mcp/transport.h"

struct extension;
struct toolbox;

struct connection_options {
    struct toolbox *toolbox;     /* borrowed, outlives the connection; NULL only in tests */
    const char *listing;         /* borrowed; as listing_of() takes it, already checked */
    bool wants_structured;       /* --structured */
    const char *default_session; /* borrowed */
    bool initializes_once;       /* refuse a second initialize */
    bool is_stateless;           /* many clients share it: ids need to be unique within one origin only */
    bool shows_log; /* the client may read the server's log; false if the log would reveal other clients */
    const struct extension *extension; /* borrowed; NULL: none */
    transport_send *send;
    void *send_arg; /* its argument; that of the other functions is ${arg} */
    /* each request that came with ${origin} has been answered or cancelled, and ${origin} is no longer
     * used; NULL: there are no origins. Called at the end of connection_message(), or from the loop. Must
     * not free the connection. */
    void (*on_over)(void *arg, struct transport_origin *origin);
    void (*on_idle)(void *arg); /* the last request in progress has ended; may be NULL; called from the loop
                                   or from inside connection_message() */
    /* notifications/initialized or the first tools/call has arrived: a good moment to start a Lisp; may be
     * NULL */
    void (*on_handshake)(void *arg);
    /* the client's first root that is a directory, ${path}, borrowed; NULL: the client is not asked for its
     * roots. Otherwise, the handshake of a client that has roots includes its answer */
    void (*on_root)(void *arg, const char *path);
    void *arg;
};

#endif
