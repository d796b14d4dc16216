/*
 * The table of notifications that the server acts on.
 */
#ifndef MCP_NOTIFICATIONS_H
#define MCP_NOTIFICATIONS_H

#include "mcp/jsonrpc.h"

struct client;

/* notification_take(client, name, params): act on a notification; an unknown one is ignored. ${params} is
 * borrowed and may be NULL. */
void notification_take(struct client *client, struct jsonrpc_slice name, const json_t *params);

#endif
