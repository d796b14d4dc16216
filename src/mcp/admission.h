/*
 * Whether a request may reach its method: a list of checks of its revision, envelope and headers, and of
 * the connection's free capacity.
 */
#ifndef MCP_ADMISSION_H
#define MCP_ADMISSION_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "mcp/jsonrpc.h"

struct batch;
struct client;
struct method;
struct revision;
struct transport_origin;

struct admission {
    /* The question; borrowed until the verdict has been used. */
    const struct client *client;
    const struct transport_origin *origin; /* NULL: the transport has none */
    const struct batch *batch;             /* that it is in; NULL: none */
    const struct jsonrpc_message *message;
    size_t len; /* bytes of its message */

    /* The verdict. If admitted: the members of the request. */
    const struct revision *revision;
    const struct method *method;
    int log_level;        /* the level of log lines that it asks for; -1: none */
    json_t *capabilities; /* declared by its client; borrowed; NULL: unknown */
    /* If not admitted: the error to answer with. */
    enum jsonrpc_code code;
    char reason[700];
    struct strbuf data; /* JSON text; empty: the error has no data */
};

/*
 * admission_check(a):
 * Decide about the request in ${a}, whose first members the caller has set.
 *
 * a           needs admission_fini() in any case
 * Returns     true: admitted
 * Source      MCP 2025-11-25, lifecycle; MCP 2026-07-28, request metadata
 */
bool admission_check(struct admission *a);

/* admission_fini(a): free the verdict's members. */
void admission_fini(struct admission *a);

#endif
