/*
 * Responsible for what a connection has beyond single requests.
 */
#include "mcp/client.h"

#include <string.h>

#include "base/utf8.h"

void client_send(const struct client *client, struct transport_origin *origin, enum transport_kind kind,
                 int code, const struct strbuf *text)
{
    struct transport_message message = {
        .origin = origin,
        .kind = kind,
        .code = code,
        .bytes = strbuf_string(text),
        .len = text->len,
    };
    if (client->options.send != NULL)
        client->options.send(client->options.send_arg, &message);
}

void client_notify(const struct client *client, struct transport_origin *origin, const struct strbuf *text)
{
    client_send(client, origin, TRANSPORT_NOTIFICATION, 0, text);
}

void client_shake_hands(struct client *client)
{
    if (client->has_shaken_hands)
        return;
    client->has_shaken_hands = true;
    if (client->options.on_handshake != NULL)
        client->options.on_handshake(client->options.arg);
}

/* The page of `cl-mcp-server view`, which a person uses. */
#define PERSON "cl-mcp-server view"

struct author client_name(const json_t *info)
{
    struct author author = {.kind = AUTHOR_AGENT};
    const json_t *value = json_object_get(info, "name");
    const char *name = json_string_value(value);
    size_t len = json_string_length(value);
    if (name == NULL || memchr(name, '\0', len) != NULL)
        return author;
    author.kind = strcmp(name, PERSON) == 0 ? AUTHOR_PERSON : AUTHOR_AGENT;
    memcpy(author.name, name, len < AUTHOR_NAME_SIZE ? len : utf8_floor(name, len, AUTHOR_NAME_SIZE - 1));
    return author;
}

struct author client_author(const struct client *client, const json_t *params)
{
    const json_t *info =
        json_object_get(json_object_get(params, "_meta"), "io.modelcontextprotocol/clientInfo");
    return info != NULL ? client_name(info) : client->author;
}
