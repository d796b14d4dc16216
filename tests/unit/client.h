/*
 * A client of a connection, and the messages that it sends: say() hands one over, sent() returns what came
 * back. The tools are those of fake_tools.h.
 */
#ifndef UNIT_CLIENT_H
#define UNIT_CLIENT_H

#include <stdio.h>

#include "../cases.h"
#include "calls/toolbox.h"
#include "fake_tools.h"
#include "guarded.h"
#include "mcp/connection.h"
#include "mcp/requests.h"

#define META(version, more)                                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                                      \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}" more "}"
#define MODERN_META(more) META("2026-07-28", more)
#define MESSAGE(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" id "," rest "}"
#define BARE(id, method) MESSAGE(id, "\"method\":\"" method "\"")
#define REQUEST(id, method, params) MESSAGE(id, "\"method\":\"" method "\",\"params\":" params)
#define NOTICE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define BARE_NOTICE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
/* ${members}: those of params, each with a comma behind it. */
#define MODERN_REQUEST(id, method, members) REQUEST(id, method, "{" members MODERN_META("") "}")
#define CALL(id, tool, arguments)                                                                            \
    REQUEST(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":" arguments "}")
#define RESULT(id, result) MESSAGE(id, "\"result\":" result)
#define DONE(id) RESULT(id, "{}")
#define TEXT_RESULT(id, text)                                                                                \
    RESULT(id, "{\"content\":[{\"type\":\"text\",\"text\":" text "}],\"isError\":false}")

struct test_client {
    struct client *connection;
    struct toolbox toolbox;    /* of the test */
    struct session_host *host; /* of the test */
    struct strbuf sent;        /* every message, each with a newline behind it */
    size_t count;              /* messages in it */
    size_t idle_count, handshake_count;
    bool frees_when_idle;
    struct transport_origin *origin;   /* what say() sends with */
    struct transport_origin *expected; /* what must be sent with */
    struct transport_origin *over;     /* the last that was over */
    size_t over_count;
    enum transport_kind kind; /* of the last message */
    int code;
};

static void on_send(void *arg, const struct transport_message *message)
{
    struct test_client *client = arg;
    assert_null(memchr(message->bytes, '\n', message->len));
    assert_ptr_equal(message->origin, client->expected);
    strbuf_add(&client->sent, message->bytes, message->len);
    strbuf_addc(&client->sent, '\n');
    client->count++;
    client->kind = message->kind;
    client->code = message->code;
}

static void on_over(void *arg, struct transport_origin *origin)
{
    struct test_client *client = arg;
    client->over_count++;
    client->over = origin;
}

static void on_idle(void *arg)
{
    struct test_client *client = arg;
    client->idle_count++;
    assert_true(requests_are_idle(client->connection));
    if (client->frees_when_idle) {
        connection_free(client->connection);
        client->connection = NULL;
    }
}

static void on_handshake(void *arg)
{
    ((struct test_client *)arg)->handshake_count++;
}

/* ${options}: what a test chooses; the rest is added. */
static void client_connect(struct test_client *client, struct connection_options options)
{
    options.default_session = "default";
    options.send = on_send;
    options.send_arg = client;
    options.on_over = on_over;
    options.on_idle = on_idle;
    options.on_handshake = on_handshake;
    options.arg = client;
    strbuf_init(&client->sent, 0);
    client->connection = connection_new(&options);
    fake_cancel_count = 0;
}

static void client_disconnect(struct test_client *client)
{
    connection_free(client->connection);
    strbuf_fini(&client->sent);
    assert_int_equal(fake_call_count, 0);
}

static void forget(struct test_client *client)
{
    strbuf_clear(&client->sent);
    client->count = 0;
}

/* Hand over bytes that end where memory ends; what was sent before is forgotten. */
static void say_bytes(struct test_client *client, const char *bytes, size_t len)
{
    struct guarded g = guarded_copy(bytes, len);
    forget(client);
    connection_message(client->connection, client->origin, g.bytes, len);
    guarded_free(&g);
}

static void say(struct test_client *client, const char *json)
{
    say_bytes(client, json, strlen(json));
}

static const char *sent(const struct test_client *client)
{
    return strbuf_string(&client->sent);
}

static void assert_sent_part(const struct test_client *client, const char *part)
{
    if (strstr(sent(client), part) == NULL)
        fail_msg("sent: %swanted: %s", sent(client), part);
}

static void shake_hands(struct test_client *client, const char *revision)
{
    char json[300], part[80];
    snprintf(json, sizeof json,
             REQUEST("0", "initialize",
                     "{\"protocolVersion\":\"%s\",\"capabilities\":{},"
                     "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}"),
             revision);
    say(client, json);
    assert_int_equal(client->count, 1);
    snprintf(part, sizeof part, "\"protocolVersion\":\"%s\"", revision);
    assert_sent_part(client, part);
    say(client, BARE_NOTICE("notifications/initialized"));
    assert_int_equal(client->count, 0);
}

#endif
