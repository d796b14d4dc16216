/*
 * The connection of one client: messages in, answers out. Does not know how bytes are sent.
 */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/connection_options.h"

struct connection;
struct revision;

/* connection_new(options): options are copied. */
struct connection *connection_new(const struct connection_options *options);

/* connection_free(c): cancel what is in progress and send nothing more. NULL does nothing. */
void connection_free(struct connection *c);

/*
 * connection_message(c, origin, bytes, len):
 * Handle one message, which may be any bytes. Each request in it is answered exactly once, immediately or
 * later, by send.
 *
 * origin      borrowed until on_over() or connection_abandon(); the caller has set its headers; NULL: the
 *             transport has none
 * bytes       borrowed; may be changed in place
 */
void connection_message(struct connection *c, struct transport_origin *origin, char *bytes, size_t len);

/* connection_abandon(c, origin): cancel the requests that came with ${origin}, without answers and without
 * on_over(). Not from inside connection_message(). */
void connection_abandon(struct connection *c, struct transport_origin *origin);

/* connection_revision(c): the revision that the last initialize negotiated; NULL before it. */
const struct revision *connection_revision(const struct connection *c);

/* connection_oversized(c): the transport dropped a message of more than TRANSPORT_MAX_MESSAGE bytes; answer
 * with an error, id null. */
void connection_oversized(struct connection *c);

/* connection_no_more_input(c): the client sends nothing more, so it answers no question. */
void connection_no_more_input(struct connection *c);

/* connection_end(c): the server is shutting down: answer the requests that would stay open. Later calls
 * of tools are refused: nothing would keep what they do. */
void connection_end(struct connection *c);

/* connection_client_name(c): the name of its client, borrowed; "" if it is not known. */
const char *connection_client_name(const struct connection *c);

/* connection_is_idle(c): no request is in progress, apart from those that stay open until their client
 * ends them. */
bool connection_is_idle(const struct connection *c);

#endif
