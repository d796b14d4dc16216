/*
 * Responsible for the table of notifications: one row and one function each.
 */
#include "mcp/notifications.h"

#include <string.h>

#include "mcp/client.h"
#include "mcp/requests.h"
#include "mcp/roots.h"

static void on_initialized(struct client *client, const struct json_text *text,
                           const struct json_text_message *tokens)
{
    if (!roots_ask(client))
        client_shake_hands(client);
}

static void on_cancelled(struct client *client, const struct json_text *text,
                         const struct json_text_message *tokens)
{
    const struct json_token *id = &tokens->request_id;
    if (client->is_stateless) /* there, a client cancels by closing the stream */
        return;
    if (id->kind != JSON_TOKEN_STRING && id->kind != JSON_TOKEN_INTEGER)
        return;
    requests_cancel(client->requests, (struct jsonrpc_slice){json_text_token(text, id), id->len});
}

static const struct {
    const char *name;
    void (*run)(struct client *client, const struct json_text *text, const struct json_text_message *tokens);
} table[] = {
    {"notifications/initialized", on_initialized},
    {"notifications/cancelled", on_cancelled},
};

void notification_take(struct client *client, struct jsonrpc_slice name, const struct json_text *text,
                       const struct json_text_message *tokens)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strlen(table[i].name) == name.len && memcmp(table[i].name, name.bytes, name.len) == 0)
            table[i].run(client, text, tokens);
}
