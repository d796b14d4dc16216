/*
 * Responsible for sending the server's log to clients; log.c writes it to standard error.
 */
#include "mcp/server_log.h"

#include <string.h>

#include "base/json_write.h"
#include "mcp/client.h"
#include "mcp/jsonrpc.h"

static void add_line(struct strbuf *out, enum log_level level, const char *text, size_t len)
{
    static const char *const names[] = {
        [LOG_LEVEL_ERROR] = "error",
        [LOG_LEVEL_WARNING] = "warning",
        [LOG_LEVEL_INFO] = "info",
        [LOG_LEVEL_DEBUG] = "debug",
    };
    jsonrpc_begin_notification(out, "notifications/message");
    strbuf_addf(out, "\"level\":\"%s\",\"logger\":\"cl-mcp-server\",\"data\":", names[level]);
    json_write_string(out, text, len);
    jsonrpc_end_notification(out);
}

/* On a transport without origins, a line is sent once, however many requests want it. */
static void send_line(const struct client *client, enum log_level level, const struct strbuf *line)
{
    bool is_sent = client->log.level >= (int)level;
    if (is_sent)
        client_notify(client, NULL, line);
    list_each(struct server_log_reader, reader, &client->log.readers, node) {
        if (reader->level < (int)level || (reader->origin == NULL && is_sent))
            continue;
        client_notify(client, reader->origin, line);
        is_sent |= reader->origin == NULL;
    }
}

static void on_line(void *arg, enum log_level level, const char *text, size_t len)
{
    struct client *client = arg;
    if (client->log.is_sending)
        return;
    client->log.is_sending = true;
    struct strbuf line = {0};
    add_line(&line, level, text, len);
    send_line(client, level, &line);
    strbuf_fini(&line);
    client->log.is_sending = false;
}

void server_log_init(struct client *client)
{
    client->log.listener = (struct log_listener){.on_line = on_line, .arg = client};
    client->log.level = SERVER_LOG_NOTHING;
    list_init(&client->log.listener.node);
    list_init(&client->log.readers);
}

void server_log_fini(struct client *client)
{
    log_remove_listener(&client->log.listener);
}

int server_log_level(const json_t *name)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {
        {"debug", LOG_LEVEL_DEBUG},     {"info", LOG_LEVEL_INFO},          {"notice", LOG_LEVEL_WARNING},
        {"warning", LOG_LEVEL_WARNING}, {"error", LOG_LEVEL_ERROR},        {"critical", SERVER_LOG_NOTHING},
        {"alert", SERVER_LOG_NOTHING},  {"emergency", SERVER_LOG_NOTHING},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (json_is_string(name) && strcmp(json_string_value(name), levels[i].name) == 0)
            return levels[i].level;
    }
    return SERVER_LOG_UNKNOWN;
}

/* Lines that no client wants are not even formatted. */
static void listen(struct client *client)
{
    int level = client->log.level;
    list_each(struct server_log_reader, reader, &client->log.readers, node)
        level = reader->level > level ? reader->level : level;
    log_remove_listener(&client->log.listener);
    if (level < 0 || !client->options.shows_log)
        return;
    client->log.listener.level = (enum log_level)level;
    log_add_listener(&client->log.listener);
}

void server_log_set_level(struct client *client, int level)
{
    client->log.level = level;
    listen(client);
}

void server_log_add(struct client *client, struct server_log_reader *reader, int level,
                    struct transport_origin *origin)
{
    *reader = (struct server_log_reader){.level = level, .origin = origin};
    list_init(&reader->node);
    if (level == SERVER_LOG_NOTHING)
        return;
    list_append(&client->log.readers, &reader->node);
    listen(client);
}

void server_log_remove(struct client *client, struct server_log_reader *reader)
{
    if (list_is_empty(&reader->node))
        return;
    list_remove(&reader->node);
    listen(client);
}
