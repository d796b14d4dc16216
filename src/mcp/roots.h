/*
 * The client's roots: roots/list, a request of the server's, which a client that declares them is asked once,
 * after the handshake and before the first Lisp starts.
 */
#ifndef MCP_ROOTS_H
#define MCP_ROOTS_H

#include <jansson.h>
#include <stdbool.h>

struct client;

/* roots_ask(client): ask for the roots. False if they are not needed, or the client has none. */
bool roots_ask(struct client *client);

/* roots_take(client, response): whether ${response}, an object, borrowed, answers roots_ask(). The first root
 * that is a directory of this machine has been passed on then, and the handshake is complete. */
bool roots_take(struct client *client, const json_t *response);

#endif
