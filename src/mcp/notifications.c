/*
 * Responsible for the table of notifications: one row and one function each.
 */
#include "mcp/notifications.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/client.h"
#include "mcp/requests.h"
#include "mcp/roots.h"

static void on_initialized(struct client *client, const json_t *params)
{
    if (!roots_ask(client))
        client_shake_hands(client);
}

static void on_cancelled(struct client *client, const json_t *params)
{
    if (client->options.is_stateless) /* there, a client cancels by closing the stream */
        return;
    char *id = jsonrpc_token(json_object_get(params, "requestId"));
    if (id != NULL)
        requests_cancel(client, jsonrpc_slice_of(id));
    free(id);
}

static const struct {
    const char *name;
    void (*run)(struct client *client, const json_t *params);
} table[] = {
    {"notifications/initialized", on_initialized},
    {"notifications/cancelled", on_cancelled},
};

void notification_take(struct client *client, struct jsonrpc_slice name, const json_t *params)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strlen(table[i].name) == name.len && memcmp(table[i].name, name.bytes, name.len) == 0)
            table[i].run(client, params);
}
