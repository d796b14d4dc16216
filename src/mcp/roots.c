/*
 * Responsible for the question for the client's roots, and for the directory in its answer. Clients up to
 * revision 2025-11-25 have them.
 */
#include "mcp/roots.h"

#include <limits.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/user_directory.h"
#include "mcp/client.h"

#define ID "cl-mcp-roots"
#define SCHEME "file://"

bool roots_ask(struct client *client)
{
    if (client->options.on_root == NULL || client->has_asked_roots || client->has_shaken_hands ||
        !json_is_object(json_object_get(client->capabilities, "roots")))
        return false;
    client->has_asked_roots = true;
    struct strbuf text = {0};
    strbuf_adds(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"" ID "\",\"method\":\"roots/list\"}");
    client_notify(client, NULL, &text);
    strbuf_fini(&text);
    return true;
}

/* Write the path in ${uri}, of this machine, to ${path}. */
static bool decode(const char *uri, char path[PATH_MAX])
{
    size_t len = 0;
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
        return false;
    uri += strlen(SCHEME);
    if (strncmp(uri, "localhost/", strlen("localhost/")) == 0)
        uri += strlen("localhost");
    for (const char *p = uri; *p != '\0'; p++) {
        int high = *p == '%' ? text_hex_digit(p[1]) : -1, low = high < 0 ? -1 : text_hex_digit(p[2]);
        bool is_escape = high >= 0 && low >= 0;
        char byte = is_escape ? (char)(high * 16 + low) : *p;
        if (byte == '\0' || len + 1 >= PATH_MAX)
            return false;
        path[len++] = byte;
        p += is_escape ? 2 : 0;
    }
    path[len] = '\0';
    return path[0] == '/';
}

bool roots_take(struct client *client, const json_t *response)
{
    const char *id = json_string_value(json_object_get(response, "id"));
    if (!client->has_asked_roots || id == NULL || strcmp(id, ID) != 0)
        return false;
    const json_t *roots = json_object_get(json_object_get(response, "result"), "roots");
    size_t i;
    json_t *root;
    json_array_foreach(roots, i, root) {
        char path[PATH_MAX];
        const char *uri = json_string_value(json_object_get(root, "uri"));
        if (uri != NULL && decode(uri, path) && is_directory(path)) {
            client->options.on_root(client->options.arg, path);
            break;
        }
    }
    client_shake_hands(client);
    return true;
}
