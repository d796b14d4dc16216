/*
 * Responsible for what a connection has beyond single requests.
 */
#include "mcp/client.h"

#include <stdlib.h>

void client_fini(struct client *client)
{
    json_decref(client->capabilities);
    free(client->tools_text);
}

void client_shake_hands(struct client *client)
{
    if (client->has_shaken_hands)
        return;
    client->has_shaken_hands = true;
    if (client->on_handshake != NULL)
        client->on_handshake(client->arg);
}
