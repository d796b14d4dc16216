/*
 * The connection of one client: messages in, answers out. Does not know how bytes are sent.
 */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/connection_options.h"

struct client;

/* connection_new(options): options are copied. */
struct client *connection_new(const struct connection_options *options);

/* connection_free(client): cancel what is in progress and send nothing more. NULL does nothing. */
void connection_free(struct client *client);

/*
 * connection_message(client, origin, bytes, len):
 * Handle one message, which may be any bytes. Each request in it is answered exactly once, immediately or
 * later, by send.
 *
 * origin      borrowed until on_over() or requests_abandon(); the caller has set its headers; NULL: the
 *             transport has none
 * bytes       borrowed; may be changed in place
 */
void connection_message(struct client *client, struct transport_origin *origin, char *bytes, size_t len);

/* connection_oversized(client): the transport dropped a message of more than TRANSPORT_MAX_MESSAGE bytes;
 * answer with an error, id null. */
void connection_oversized(struct client *client);

/* connection_end(client): the server is shutting down: answer the requests that would stay open. Later calls
 * of tools are refused: nothing would keep what they do. */
void connection_end(struct client *client);

#endif
