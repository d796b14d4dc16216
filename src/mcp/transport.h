/*
 * What a transport and a connection know about each other: whole messages in and out, not their meaning.
 */
#ifndef MCP_TRANSPORT_H
#define MCP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

/* A message longer than this is not read: the transport drops it and calls connection_oversized(). All others
 * wait while one is parsed: a tenth of a second for this size, several on a busy machine. */
#define TRANSPORT_MAX_MESSAGE (16u << 20)
#define TRANSPORT_TOO_LONG "Invalid Request: a message may have at most 16777216 bytes"
_Static_assert(TRANSPORT_MAX_MESSAGE == 16777216, "TRANSPORT_TOO_LONG gives the number");

/* What arrives with a message: since 2026-07-28, HTTP clients repeat some members of a request in headers,
 * which must agree with it. NULL: the header was not sent. */
struct transport_headers {
    const char *version;    /* MCP-Protocol-Version */
    const char *method;     /* Mcp-Method */
    const char *name;       /* Mcp-Name, still encoded */
    const char *session;    /* Mcp-Param-Session, likewise: a tool's argument "session", for load balancers */
    bool is_ambiguous;      /* one of them was sent more than once */
    bool wants_answer_only; /* Accept admits no stream: nothing can be sent before the answer */
};

/*
 * Where a message came from, for transports that send an answer back on the path of its request (HTTP: one
 * POST). The transport keeps it from connection_message() until on_over() or requests_abandon(), and sets
 * only the headers.
 */
struct transport_origin {
    const struct transport_headers
        *headers;         /* set by the transport, read by connection_message() only; may be NULL */
    struct list requests; /* requests in progress that came with it */
    bool is_handling;     /* connection_message() with it is on the stack */
    bool is_abandoned;    /* no client is waiting for answers */
};

enum transport_kind {
    TRANSPORT_RESULT,      /* a response, or the responses to a batch */
    TRANSPORT_ERROR,       /* the error of a method that ran */
    TRANSPORT_REFUSAL,     /* the error of a message that reached no method */
    TRANSPORT_NOTIFICATION /* precedes an answer, or belongs to no request */
};

/* A message to be sent. */
struct transport_message {
    struct transport_origin
        *origin; /* of the request that it is about; NULL: none, or a request that has none */
    enum transport_kind kind;
    int code;          /* of an error; otherwise 0 */
    const char *bytes; /* borrowed; no newline in it */
    size_t len;
};

/* How a connection sends. Called from the loop only. */
typedef void transport_send(void *arg, const struct transport_message *message);

#endif
