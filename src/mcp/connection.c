/*
 * Responsible for one client's connection: splitting messages and batches, and passing each message to the
 * file that handles it: admission.c decides whether a request may run, its method what it does, request.c
 * how it is answered, and the transport how bytes are sent.
 *
 * Bytes that are not a message are answered as follows: -32700 with id null if the text is not JSON, which
 * includes bytes that are not UTF-8. JSON that exceeds a limit (a million values, 2,048 levels, a number
 * outside the range of doubles, a member's name with a NUL) is -32600 with its id, so that the caller does
 * not wait for an answer that never comes.
 */
#include "mcp/connection.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/memory.h"
#include "mcp/admission.h"
#include "mcp/asking_call.h"
#include "mcp/batch.h"
#include "mcp/client.h"
#include "mcp/elicitation.h"
#include "mcp/extension.h"
#include "mcp/json_text.h"
#include "mcp/jsonrpc.h"
#include "mcp/method.h"
#include "mcp/notifications.h"
#include "mcp/outbox.h"
#include "mcp/requests.h"
#include "mcp/revisions.h"
#include "mcp/roots.h"
#include "mcp/server_log.h"
#include "mcp/subscriptions.h"
#include "tools/toolbox.h"

/* A progress token is sent many times, so a longer one is ignored. */
#define LONGEST_PROGRESS_TOKEN 4096

struct connection {
    struct outbox outbox;
    struct client client;
    struct json_text text; /* of the message being handled */
    bool is_handling;      /* connection_message() is on the stack */
};

/* A message being handled: a single one, or an element of a batch. */
struct arrival {
    struct connection *connection;
    struct transport_origin *origin;
    struct batch *batch; /* NULL: a single message */
    const char *bytes;
    const struct json_text_message *tokens;
};

struct connection *connection_new(const struct connection_options *options)
{
    struct connection *c = xcalloc(1, sizeof *c);
    json_text_init(&c->text);
    outbox_init(&c->outbox, options->send, options->arg);
    c->client = (struct client){
        .toolbox = options->toolbox,
        .listing = options->listing,
        .default_session = options->default_session,
        .extension = options->extension,
        .wants_structured = options->wants_structured,
        .initializes_once = options->initializes_once,
        .is_stateless = options->is_stateless,
        .outbox = &c->outbox,
        .log = server_log_new(&c->outbox, options->shows_log),
        .on_handshake = options->on_handshake,
        .on_root = options->on_root,
        .arg = options->arg,
    };
    list_init(&c->client.questions);
    list_init(&c->client.parked);
    if (options->toolbox != NULL && !options->is_stateless)
        c->client.number = ++options->toolbox->clients;
    c->client.requests = requests_new(&(struct requests_options){
        .outbox = &c->outbox,
        .is_stateless = options->is_stateless,
        .on_over = options->on_over,
        .on_idle = options->on_idle,
        .arg = options->arg,
    });
    c->client.subscriptions = subscriptions_new(&c->client);
    return c;
}

void connection_free(struct connection *c)
{
    if (c == NULL)
        return;
    CHECK(!c->is_handling);
    outbox_mute(&c->outbox);
    requests_free(c->client.requests);
    asking_calls_cancel(&c->client);
    subscriptions_free(c->client.subscriptions);
    server_log_free(c->client.log);
    client_fini(&c->client);
    json_text_fini(&c->text);
    outbox_fini(&c->outbox);
    free(c);
}

bool connection_is_idle(const struct connection *c)
{
    return requests_are_idle(c->client.requests);
}

const struct revision *connection_revision(const struct connection *c)
{
    return c->client.negotiated;
}

void connection_abandon(struct connection *c, struct transport_origin *origin)
{
    requests_abandon(c->client.requests, origin);
}

void connection_no_more_input(struct connection *c)
{
    elicitation_end(&c->client);
    asking_calls_cancel(&c->client);
}

void connection_end(struct connection *c)
{
    c->client.is_ending = true;
    subscriptions_end(c->client.subscriptions);
}

static void refuse(const struct arrival *a, enum jsonrpc_code code, const char *message, const char *data)
{
    requests_refuse(a->connection->client.requests, a->origin, a->batch,
                    jsonrpc_id(&a->connection->text, a->tokens), code, message, data);
}

static void __attribute__((format(printf, 3, 4)))
refuse_formatted(const struct arrival *a, enum jsonrpc_code code, const char *format, ...)
{
    char message[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse(a, code, message, NULL);
}

static struct jsonrpc_slice progress_token(const struct arrival *a)
{
    const struct json_token *token = &a->tokens->progress_token;
    bool is_usable = (token->kind == JSON_TOKEN_STRING || token->kind == JSON_TOKEN_INTEGER) &&
                     token->len <= LONGEST_PROGRESS_TOKEN;
    if (!is_usable)
        return (struct jsonrpc_slice){NULL, 0};
    return (struct jsonrpc_slice){json_text_token(&a->connection->text, token), token->len};
}

static void run(const struct arrival *a, const struct jsonrpc_message *m, const struct admission *admitted)
{
    struct client *client = &a->connection->client;
    const struct extension *extension = client->extension;
    struct request *r = request_new(client->requests, &(struct request_options){
                                                          .client = client,
                                                          .origin = a->origin,
                                                          .batch = a->batch,
                                                          .revision = admitted->revision,
                                                          .method = admitted->method,
                                                          .id = m->id,
                                                          .progress_token = progress_token(a),
                                                          .len = a->tokens->len,
                                                          .log_level = admitted->log_level,
                                                          .capabilities = admitted->capabilities,
                                                      });
    if (extension == NULL || !extension->take(extension, r, m->params))
        admitted->method->run(r, m->params);
}

static void handle_request(const struct arrival *a, const struct jsonrpc_message *m)
{
    struct admission admission = {
        .client = &a->connection->client,
        .origin = a->origin,
        .batch = a->batch,
        .message = m,
        .tokens = a->tokens,
    };
    if (admission_check(&admission))
        run(a, m, &admission);
    else
        refuse(a, admission.code, admission.reason,
               admission.data.len > 0 ? strbuf_string(&admission.data) : NULL);
    admission_fini(&admission);
}

static const char *kind_of_error(enum jsonrpc_code code)
{
    return code == JSONRPC_INVALID_PARAMS ? "Invalid params" : "Invalid Request";
}

/* The text at a->tokens, which the scanner found to be well-formed. */
static void handle_arrival(const struct arrival *a)
{
    struct client *client = &a->connection->client;
    if (!a->tokens->is_object) {
        refuse(a, JSONRPC_INVALID_REQUEST, "Invalid Request: a message must be an object", NULL);
        return;
    }
    json_error_t error;
    json_t *object = json_loadb(a->bytes + a->tokens->at, a->tokens->len, JSON_ALLOW_NUL, &error);
    if (object == NULL) {
        refuse_formatted(a, JSONRPC_INVALID_REQUEST,
                         "Invalid Request: a limit of this server is exceeded: %s (byte %d)", error.text,
                         error.position);
        return;
    }
    struct jsonrpc_message m = jsonrpc_classify(object, &a->connection->text, a->tokens);
    switch (m.kind) {
    case JSONRPC_REQUEST:
        handle_request(a, &m);
        break;
    case JSONRPC_NOTIFICATION:
        notification_take(client, m.method, &a->connection->text, a->tokens);
        break;
    case JSONRPC_RESPONSE:
        if (!elicitation_take(client, object) && !roots_take(client, object) && client->extension != NULL)
            client->extension->on_response(client->extension, object);
        break;
    case JSONRPC_REFUSED:
        refuse_formatted(a, m.code, "%s: %s", kind_of_error(m.code), m.reason);
        break;
    }
    json_decref(object);
}

/* The input could not be split into messages, so there is no id to answer with. */
static void refuse_all(struct connection *c, struct transport_origin *origin, enum jsonrpc_code code,
                       const char *message)
{
    requests_refuse(c->client.requests, origin, NULL, (struct jsonrpc_slice){NULL, 0}, code, message, NULL);
}

static void handle_batch(struct connection *c, struct transport_origin *origin, const char *bytes)
{
    const struct revision *revision = c->client.negotiated;
    const char *reason = NULL;
    if (revision == NULL || !revision->has_batches)
        reason = "Invalid Request: batches exist in revision 2025-03-26 only";
    else if (c->text.count == 0)
        reason = "Invalid Request: empty batch";
    else if (c->text.count > JSON_TEXT_MAX_MESSAGES)
        reason = "Invalid Request: a batch has at most 100 messages";
    if (reason != NULL) {
        refuse_all(c, origin, JSONRPC_INVALID_REQUEST, reason);
        return;
    }
    struct batch *batch = batch_new(&c->outbox, origin);
    for (size_t i = 0; i < c->text.count; i++)
        handle_arrival(&(struct arrival){c, origin, batch, bytes, &c->text.messages[i]});
    batch_release(batch);
}

static void handle(struct connection *c, struct transport_origin *origin, char *bytes, size_t len)
{
    struct arrival whole = {c, origin, NULL, bytes, &c->text.messages[0]};
    char message[700];
    struct err err;
    if (!json_text_scan(&c->text, bytes, len, &err)) {
        snprintf(message, sizeof message, "Parse error: %s", err.message);
        refuse_all(c, origin, JSONRPC_PARSE_ERROR, message);
        return;
    }
    if (c->text.value_count > JSON_TEXT_MAX_VALUES) {
        snprintf(message, sizeof message,
                 "Invalid Request: the message has %zu JSON values; at most %d are accepted",
                 c->text.value_count, JSON_TEXT_MAX_VALUES);
        if (c->text.root == JSON_TEXT_OBJECT)
            refuse(&whole, JSONRPC_INVALID_REQUEST, message, NULL);
        else
            refuse_all(c, origin, JSONRPC_INVALID_REQUEST, message);
        return;
    }
    switch (c->text.root) {
    case JSON_TEXT_OBJECT:
        handle_arrival(&whole);
        break;
    case JSON_TEXT_ARRAY:
        handle_batch(c, origin, bytes);
        break;
    case JSON_TEXT_SCALAR:
        refuse_all(c, origin, JSONRPC_INVALID_REQUEST, "Invalid Request: a message must be an object");
        break;
    }
}

void connection_message(struct connection *c, struct transport_origin *origin, char *bytes, size_t len)
{
    CHECK(!c->is_handling);
    c->is_handling = true;
    requests_hold(c->client.requests, origin);
    handle(c, origin, bytes, len);
    c->is_handling = false;
    requests_release(c->client.requests, origin);
}

void connection_oversized(struct connection *c)
{
    refuse_all(c, NULL, JSONRPC_INVALID_REQUEST, TRANSPORT_TOO_LONG);
}
