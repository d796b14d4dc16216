/*
 * Responsible for sending the server's log to clients; log.c writes it to standard error.
 */
#include "mcp/server_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/json_write.h"
#include "mcp/jsonrpc.h"
#include "mcp/outbox.h"

struct server_log {
    struct outbox *outbox;
    struct log_listener listener;
    struct list readers;            /* the oldest first */
    size_t wanted[LOG_LEVEL_COUNT]; /* readers, and the client itself, by level */
    int level;                      /* of the client itself */
    bool is_shown;
    bool is_sending; /* lines logged while a line is being sent are not sent */
};

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
static void send_line(const struct server_log *log, enum log_level level, const struct strbuf *line)
{
    bool is_sent = log->level >= (int)level;
    if (is_sent)
        outbox_notify(log->outbox, NULL, line);
    list_each(struct server_log_reader, reader, &log->readers, node) {
        if (reader->level < (int)level || (reader->origin == NULL && is_sent))
            continue;
        outbox_notify(log->outbox, reader->origin, line);
        is_sent |= reader->origin == NULL;
    }
}

static void on_line(void *arg, enum log_level level, const char *text, size_t len)
{
    struct server_log *log = arg;
    if (log->is_sending)
        return;
    log->is_sending = true;
    struct strbuf line = {0};
    add_line(&line, level, text, len);
    send_line(log, level, &line);
    strbuf_fini(&line);
    log->is_sending = false;
}

struct server_log *server_log_new(struct outbox *outbox, bool is_shown)
{
    struct server_log *log = xcalloc(1, sizeof *log);
    log->outbox = outbox;
    log->is_shown = is_shown;
    log->level = SERVER_LOG_NOTHING;
    log->listener.on_line = on_line;
    log->listener.arg = log;
    list_init(&log->listener.node);
    list_init(&log->readers);
    return log;
}

void server_log_free(struct server_log *log)
{
    if (log == NULL)
        return;
    log_remove_listener(&log->listener);
    free(log);
}

bool server_log_is_shown(const struct server_log *log)
{
    return log->is_shown;
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
static void listen(struct server_log *log)
{
    int level = LOG_LEVEL_COUNT - 1;
    while (level >= 0 && log->wanted[level] == 0)
        level--;
    log_remove_listener(&log->listener);
    if (level < 0 || !log->is_shown)
        return;
    log->listener.level = (enum log_level)level;
    log_add_listener(&log->listener);
}

static void want(struct server_log *log, int level)
{
    if (level < 0)
        return;
    log->wanted[level]++;
    listen(log);
}

static void forget(struct server_log *log, int level)
{
    if (level < 0)
        return;
    log->wanted[level]--;
    listen(log);
}

void server_log_set_level(struct server_log *log, int level)
{
    forget(log, log->level);
    log->level = level;
    want(log, level);
}

void server_log_add(struct server_log *log, struct server_log_reader *reader, int level,
                    struct transport_origin *origin)
{
    *reader = (struct server_log_reader){.level = level, .origin = origin};
    list_init(&reader->node);
    list_append(&log->readers, &reader->node);
    want(log, level);
}

void server_log_remove(struct server_log *log, struct server_log_reader *reader)
{
    list_remove(&reader->node);
    forget(log, reader->level);
    reader->level = SERVER_LOG_NOTHING;
}
