/*
 * Responsible for one client's connection: splitting messages and batches, and passing each message to the
 * file that handles it: admission.c decides whether a request may run, its method what it does, request.c
 * how it is answered, and the transport how bytes are sent.
 *
 * Bytes that are not a message are answered as follows: -32700 with id null if the text is not JSON, which
 * includes bytes that are not UTF-8. JSON that exceeds a limit (a million values, 2,048 levels, an integer of
 * more than 64 bits, a number outside the range of doubles, a member's name with a NUL) is -32600, a single
 * message with its id, so that the caller does not wait for an answer that never comes.
 */
#include "mcp/connection.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "calls/toolbox.h"
#include "mcp/admission.h"
#include "mcp/batch.h"
#include "mcp/calls.h"
#include "mcp/client.h"
#include "mcp/extension.h"
#include "mcp/json_text.h"
#include "mcp/jsonrpc.h"
#include "mcp/method.h"
#include "mcp/notifications.h"
#include "mcp/requests.h"
#include "mcp/revisions.h"
#include "mcp/roots.h"
#include "mcp/server_log.h"
#include "mcp/subscriptions.h"

/* A progress token is sent many times, so a longer one is ignored. */
enum { LONGEST_PROGRESS_TOKEN = 4096, LARGEST_BATCH = 100 };

struct client *connection_new(const struct connection_options *options)
{
    struct client *client = xcalloc(1, sizeof *client);
    client->options = *options;
    list_init(&client->questions);
    list_init(&client->parked);
    if (options->toolbox != NULL && !options->is_stateless)
        client->number = ++options->toolbox->clients;
    requests_init(client);
    server_log_init(client);
    client->subscriptions = subscriptions_new(client);
    return client;
}

void connection_free(struct client *client)
{
    if (client == NULL)
        return;
    client->options.send = NULL;
    requests_fini(client);
    calls_cancel_parked(client);
    subscriptions_free(client->subscriptions);
    server_log_fini(client);
    json_decref(client->capabilities);
    free(client->tools_text);
    free(client);
}

void connection_end(struct client *client)
{
    client->is_ending = true;
    subscriptions_end(client->subscriptions);
}

static void run(struct arrival *a, const struct jsonrpc_message *m)
{
    const struct extension *extension = a->client->options.extension;
    char *token = jsonrpc_token(json_object_get(json_object_get(m->params, "_meta"), "progressToken"));
    bool is_usable = token != NULL && strlen(token) <= LONGEST_PROGRESS_TOKEN;
    a->progress_token = jsonrpc_slice_of(is_usable ? token : NULL);
    struct request *r = request_new(a);
    free(token);
    if (extension == NULL || !extension->take(extension, r, m->params))
        a->method->run(r, m->params);
}

static void handle_one(const struct arrival *whole, json_t *object)
{
    struct client *client = whole->client;
    if (!json_is_object(object)) {
        arrival_refuse(whole, JSONRPC_INVALID_REQUEST, "Invalid Request: a message must be an object", NULL);
        return;
    }
    struct jsonrpc_message m = jsonrpc_classify(object);
    struct arrival a = *whole;
    char message[200];
    a.id = m.id;
    switch (m.kind) {
    case JSONRPC_REQUEST:
        if (admission_check(&a, &m))
            run(&a, &m);
        break;
    case JSONRPC_NOTIFICATION:
        notification_take(client, m.method, m.params);
        break;
    case JSONRPC_RESPONSE:
        if (!calls_take(client, object) && !roots_take(client, object) && client->options.extension != NULL)
            client->options.extension->on_response(client->options.extension, object);
        break;
    case JSONRPC_REFUSED:
        snprintf(message, sizeof message, "%s: %s",
                 m.code == JSONRPC_INVALID_PARAMS ? "Invalid params" : "Invalid Request", m.reason);
        arrival_refuse(&a, m.code, message, NULL);
        break;
    }
    jsonrpc_message_fini(&m);
}

static void handle_batch(const struct arrival *whole, json_t *array)
{
    const struct revision *revision = whole->client->negotiated;
    size_t i, count = json_array_size(array);
    const char *reason = NULL;
    if (revision == NULL || !revision->has_batches)
        reason = "Invalid Request: batches exist in revision 2025-03-26 only";
    else if (count == 0)
        reason = "Invalid Request: empty batch";
    else if (count > LARGEST_BATCH)
        reason = "Invalid Request: a batch has at most 100 messages";
    if (reason != NULL) {
        arrival_refuse(whole, JSONRPC_INVALID_REQUEST, reason, NULL);
        return;
    }
    struct arrival one = *whole;
    one.batch = batch_new(whole->client, whole->origin);
    one.len = whole->len / count;
    json_t *value;
    json_array_foreach(array, i, value)
        handle_one(&one, value);
    batch_release(one.batch);
}

/* Whether it may be JSON that jansson does not take. */
static bool is_limit(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_stack_overflow || code == json_error_numeric_overflow ||
           code == json_error_null_byte_in_key;
}

static void refuse_text(struct arrival *a, const struct json_text *text, const char *bytes,
                        const json_error_t *error)
{
    char message[300];
    enum jsonrpc_code code = JSONRPC_INVALID_REQUEST;
    if (text->value_count > JSON_TEXT_MAX_VALUES) {
        snprintf(message, sizeof message,
                 "Invalid Request: the message has %zu JSON values; at most %d are accepted",
                 text->value_count, JSON_TEXT_MAX_VALUES);
    } else if (is_limit(error)) {
        snprintf(message, sizeof message, "Invalid Request: a limit of this server is exceeded: %s (byte %d)",
                 error->text, error->position);
    } else {
        snprintf(message, sizeof message, "Parse error: line %d, column %d (byte %d): %s", error->line,
                 error->column, error->position, error->text);
        code = JSONRPC_PARSE_ERROR;
    }
    json_t *value = code == JSONRPC_PARSE_ERROR ? NULL : json_text_id(text, bytes, a->len);
    char *id = jsonrpc_token(value);
    a->id = jsonrpc_slice_of(id);
    arrival_refuse(a, code, message, NULL);
    free(id);
    json_decref(value);
}

void connection_message(struct client *client, struct transport_origin *origin, char *bytes, size_t len)
{
    struct arrival whole = {.client = client, .origin = origin, .len = len};
    requests_hold(client, origin);
    struct json_text text = json_text_mend(bytes, len);
    const char *zero = memchr(bytes, '\0', len); /* jansson skips one behind a number */
    int at = zero == NULL ? 0 : (int)(zero - bytes) + 1;
    json_error_t error = {.line = 1, .column = at, .position = at, .text = "a byte is zero"};
    json_t *root = zero != NULL || text.value_count > JSON_TEXT_MAX_VALUES
                       ? NULL
                       : json_loadb(bytes, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (root == NULL)
        refuse_text(&whole, &text, bytes, &error);
    else if (json_is_array(root))
        handle_batch(&whole, root);
    else
        handle_one(&whole, root);
    json_decref(root);
    requests_release(client, origin);
}

void connection_oversized(struct client *client)
{
    arrival_refuse(&(struct arrival){.client = client}, JSONRPC_INVALID_REQUEST, TRANSPORT_TOO_LONG, NULL);
}
