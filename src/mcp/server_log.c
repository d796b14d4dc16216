/*
 * Responsible for telling clients what the server logs. Where a line goes on standard error is log.c's
 * affair.
 */
#include "mcp/server_log.h"

#include <string.h>

#include "mcp/connection_internal.h"

#define ADD_LITERAL(out, literal) strbuf_add((out), (literal), sizeof(literal) - 1)

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
    json_text_add_string(out, text, len);
    jsonrpc_end_notification(out);
}

/* On a transport without origins a line goes out once, however many requests want it. */
static void tell(struct connection *c, enum log_level level, const struct strbuf *line)
{
    bool is_told = c->log.level >= (int)level;
    struct list *node, *following;
    struct request *r;

    if (is_told)
        connection_notify(c, NULL, line);
    list_for_each(node, following, &c->requests)
    {
        r = list_entry(node, struct request, node);
        if (r->log_level < (int)level || (!r->origin && is_told))
            continue;
        connection_notify(c, r->origin, line);
        is_told |= !r->origin;
    }
}

static void on_line(void *arg, enum log_level level, const char *text, size_t len)
{
    struct connection *c = arg;
    struct strbuf line;

    if (c->log.is_telling)
        return;
    c->log.is_telling = true;
    strbuf_init(&line, 0);
    add_line(&line, level, text, len);
    tell(c, level, &line);
    strbuf_fini(&line);
    c->log.is_telling = false;
}

void server_log_init(struct connection *c)
{
    c->log.level = SERVER_LOG_NOTHING;
    c->log.listener.on_line = on_line;
    c->log.listener.arg = c;
    list_init(&c->log.listener.node);
}

void server_log_fini(struct connection *c)
{
    log_remove_listener(&c->log.listener);
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
    size_t i;

    for (i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (json_is_string(name) && strcmp(json_string_value(name), levels[i].name) == 0)
            return levels[i].level;
    }
    return SERVER_LOG_UNKNOWN;
}

/* Lines that nobody wants are not even put together. */
static void adjust(struct connection *c)
{
    int level = LOG_LEVEL_COUNT - 1;

    while (level >= 0 && c->log.wanted[level] == 0)
        level--;
    log_remove_listener(&c->log.listener);
    if (level < 0 || !c->options.shows_log)
        return;
    c->log.listener.level = (enum log_level)level;
    log_add_listener(&c->log.listener);
}

void server_log_want(struct connection *c, int level)
{
    if (level < 0)
        return;
    c->log.wanted[level]++;
    adjust(c);
}

void server_log_forget(struct connection *c, int level)
{
    if (level < 0)
        return;
    c->log.wanted[level]--;
    adjust(c);
}

void methods_logging_set_level(struct request *r, const json_t *params)
{
    struct connection *c = r->connection;
    int level = server_log_level(json_object_get(params, "level"));

    if (!c->options.shows_log) {
        request_fail(r, JSONRPC_METHOD_NOT_FOUND,
                     "Method not found: logging/setLevel: the log is not shown here");
        return;
    }
    if (level == SERVER_LOG_UNKNOWN) {
        request_fail(
            r, JSONRPC_INVALID_PARAMS,
            "Invalid params: level must be one of debug, info, notice, warning, error, critical, alert and "
            "emergency");
        return;
    }
    server_log_forget(c, c->log.level);
    c->log.level = level;
    server_log_want(c, level);
    request_result(r);
    request_finish(r);
}
