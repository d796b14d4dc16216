/*
 * Responsible for what an extension can do with a request beside answering it.
 */
#include "mcp/extension.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "mcp/connection_internal.h"

#define ADD_LITERAL(out, literal) strbuf_add((out), (literal), sizeof(literal) - 1)

void extension_add_items(const struct extension *extension, struct strbuf *out, const char *list)
{
    if (extension)
        extension->add_items(extension, out, list);
}

const char *request_method(const struct request *r)
{
    return r->method->name;
}

bool request_is_modern(const struct request *r)
{
    return r->revision->is_modern;
}

bool request_can(const struct request *r, const char *capability)
{
    return json_is_object(json_object_get(r->capabilities, capability));
}

void request_progress_of(struct request *r, int progress, int total)
{
    struct strbuf text;

    if (!r->progress_token.bytes)
        return;
    strbuf_init(&text, 0);
    jsonrpc_begin_notification(&text, "notifications/progress");
    ADD_LITERAL(&text, "\"progressToken\":");
    strbuf_add(&text, r->progress_token.bytes, r->progress_token.len);
    strbuf_addf(&text, ",\"progress\":%d,\"total\":%d", progress, total);
    jsonrpc_end_notification(&text);
    connection_notify(r->connection, r->origin, &text);
    strbuf_fini(&text);
}

void request_log(struct request *r, const char *text)
{
    int level = r->revision->is_modern ? r->log_level : r->connection->log.level;
    struct strbuf line;

    if (level < (int)LOG_LEVEL_INFO)
        return;
    strbuf_init(&line, 0);
    jsonrpc_begin_notification(&line, "notifications/message");
    ADD_LITERAL(&line, "\"level\":\"info\",\"data\":");
    json_text_add_string(&line, text, strlen(text));
    jsonrpc_end_notification(&line);
    connection_notify(r->connection, r->origin, &line);
    strbuf_fini(&line);
}

void request_tools_changed(struct request *r)
{
    subscriptions_say_tools_changed(r->connection);
}

bool request_may_ask(const struct request *r)
{
    return !r->revision->is_modern && !r->batch;
}

static void cancel_asking(struct request *r)
{
    r->asked = 0;
}

void request_ask(struct request *r, const char *method, const char *params,
                 void (*on_answer)(struct request *r, const json_t *result))
{
    struct strbuf text;

    CHECK(request_may_ask(r));
    r->asked = ++r->connection->last_asked;
    r->on_answer = on_answer;
    r->pending = r;
    r->cancel = cancel_asking;
    strbuf_init(&text, 0);
    strbuf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"server-%ld\",\"method\":\"%s\",\"params\":%s}",
                r->asked, method, params);
    connection_notify(r->connection, r->origin, &text);
    strbuf_fini(&text);
}

void connection_answered(struct connection *c, const json_t *response)
{
    const char *id = json_string_value(json_object_get(response, "id"));
    struct list *node, *following;
    struct request *r;
    char expected[40];

    if (!id || c->last_asked == 0)
        return;
    list_for_each(node, following, &c->requests)
    {
        r = list_entry(node, struct request, node);
        snprintf(expected, sizeof expected, "server-%ld", r->asked);
        if (r->asked == 0 || strcmp(id, expected) != 0)
            continue;
        r->asked = 0;
        r->pending = NULL;
        r->on_answer(r, json_object_get(response, "result"));
        return;
    }
}
