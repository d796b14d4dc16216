/*
 * The table of notifications that the server acts on.
 */
#ifndef MCP_NOTIFICATIONS_H
#define MCP_NOTIFICATIONS_H

#include "mcp/jsonrpc.h"

struct client;

/*
 * notification_take(client, name, text, tokens):
 * Act on a notification; an unknown one is ignored.
 *
 * text        borrowed; what ${tokens}, those of the notification, point into
 */
void notification_take(struct client *client, struct jsonrpc_slice name, const struct json_text *text,
                       const struct json_text_message *tokens);

#endif
