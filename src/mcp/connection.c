/*
 * Responsible for one client: taking messages apart, telling the eras apart, the requests under way, batches,
 * and the one place where results get the shape of their revision. What methods do is in methods.c, how bytes
 * travel is the transport's.
 *
 * What is answered to bytes that are no message: -32700 with id null where the text is not JSON, bytes that
 * are not UTF-8 included. A text that is JSON but more than we take (a million values, 2,048 levels, a number
 * outside the range of doubles, a member's name with a NUL) is -32600 with its id, so that the caller does
 * not wait for an answer that never comes.
 */
#include "mcp/connection.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "mcp/connection_internal.h"
#include "mcp/request_headers.h"

/* A buffer that one large message has made larger than this is given back. */
#define KEPT_CAPACITY (1u << 20)

/* Requests under way may occupy this much; a request is taken to need its own text and a little more. */
#define MOST_WEIGHT (256u << 20)
#define OWN_WEIGHT 1024

/* A progress notification goes out again and again, so it does not carry a token of any length. */
#define LONGEST_PROGRESS_TOKEN 4096

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"

#define ADD_LITERAL(out, literal) strbuf_add((out), (literal), sizeof(literal) - 1)

/* The answers to a batch go out together, when the last is there. */
struct batch {
    struct connection *connection;
    struct transport_origin *origin;
    size_t pending; /* requests under way, and one while its elements are still being handled */
    struct strbuf replies;
};

/* Where a message stands while it is handled. */
struct arrival {
    struct connection *connection;
    struct transport_origin *origin;
    struct batch *batch; /* NULL: on its own */
    char *bytes;
    const struct json_text_message *tokens;
};

struct connection *connection_new(const struct connection_options *options)
{
    struct connection *c = xcalloc(1, sizeof *c);
    size_t i;

    c->options = *options;
    list_init(&c->requests);
    list_init(&c->streams);
    for (i = 0; i < CONNECTION_BUCKETS; i++)
        list_init(&c->buckets[i]);
    json_text_init(&c->text);
    strbuf_init(&c->out, 0);
    server_log_init(c);
    subscriptions_init(c);
    return c;
}

bool connection_is_idle(const struct connection *c)
{
    return list_is_empty(&c->requests);
}

const struct revision *connection_revision(const struct connection *c)
{
    return c->negotiated;
}

static void send_text(struct connection *c, struct transport_origin *origin, enum transport_kind kind,
                      int code, const struct strbuf *text)
{
    struct transport_message message = {
        .origin = origin,
        .kind = kind,
        .code = code,
        .bytes = strbuf_string(text),
        .len = text->len,
    };

    c->options.send(c->options.arg, &message);
}

void connection_notify(struct connection *c, struct transport_origin *origin, const struct strbuf *text)
{
    send_text(c, origin, TRANSPORT_NOTIFICATION, 0, text);
}

static void send_out(struct connection *c, struct transport_origin *origin, enum transport_kind kind,
                     int code)
{
    send_text(c, origin, kind, code, &c->out);
    if (c->out.capacity > KEPT_CAPACITY)
        strbuf_fini(&c->out);
}

/* Where to write an answer. */
static struct strbuf *begin_answer(struct connection *c, struct batch *batch)
{
    if (batch) {
        strbuf_addc(&batch->replies, batch->replies.len ? ',' : '[');
        return &batch->replies;
    }
    strbuf_clear(&c->out);
    return &c->out;
}

/* Answer with an error; ${kind} says whether a method has run. */
static void refuse(struct connection *c, struct transport_origin *origin, struct batch *batch,
                   enum transport_kind kind, struct jsonrpc_slice id, enum jsonrpc_code code,
                   const char *message, const char *data)
{
    jsonrpc_add_error(begin_answer(c, batch), id, code, message, data);
    if (!batch)
        send_out(c, origin, kind, code);
}

static void refuse_arrival_with(const struct arrival *a, enum jsonrpc_code code, const char *message,
                                const char *data)
{
    refuse(a->connection, a->origin, a->batch, TRANSPORT_REFUSAL, jsonrpc_id(&a->connection->text, a->tokens),
           code, message, data);
}

static void __attribute__((format(printf, 3, 4)))
refuse_arrival(const struct arrival *a, enum jsonrpc_code code, const char *format, ...)
{
    char message[700];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse_arrival_with(a, code, message, NULL);
}

static void batch_unref(struct batch *batch)
{
    if (!batch || --batch->pending > 0)
        return;
    if (batch->replies.len > 0 && !(batch->origin && batch->origin->is_abandoned)) {
        strbuf_addc(&batch->replies, ']');
        send_text(batch->connection, batch->origin, TRANSPORT_RESULT, 0, &batch->replies);
    }
    strbuf_fini(&batch->replies);
    free(batch);
}

/* Said by whoever ends last: the last request of a message, or the handling of it. */
static void say_over(struct connection *c, struct transport_origin *origin)
{
    if (!origin || origin->is_handling || origin->is_abandoned || !list_is_empty(&origin->requests))
        return;
    if (c->options.on_over)
        c->options.on_over(c->options.arg, origin);
}

/* The owner may free the connection in on_idle, so nothing may be touched after this. */
static void say_idle(struct connection *c)
{
    if (!c->owes_idle || c->is_handling || !list_is_empty(&c->requests))
        return;
    c->owes_idle = false;
    if (c->options.on_idle)
        c->options.on_idle(c->options.arg);
}

static struct list *bucket_of(struct connection *c, struct jsonrpc_slice id)
{
    uint32_t hash = 2166136261u;
    size_t i;

    for (i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.bytes[i]) * 16777619u;
    return &c->buckets[(hash ^ (hash >> 16)) % CONNECTION_BUCKETS];
}

static struct request *request_new(const struct arrival *a, const struct jsonrpc_message *m,
                                   const struct revision *revision, const struct method *method)
{
    const struct json_token *token = &a->tokens->progress_token;
    bool has_token = (token->kind == JSON_TOKEN_STRING || token->kind == JSON_TOKEN_INTEGER) &&
                     token->len <= LONGEST_PROGRESS_TOKEN;
    struct request *r = xmalloc(sizeof *r + m->id.len + (has_token ? token->len : 0));

    *r = (struct request){
        .connection = a->connection,
        .origin = a->origin,
        .batch = a->batch,
        .revision = revision,
        .method = method,
        .log_level = -1,
        .progress_ms = -1,
        .weight = a->tokens->len + OWN_WEIGHT,
    };
    r->id = (struct jsonrpc_slice){r->written, m->id.len};
    memcpy(r->written, m->id.bytes, m->id.len);
    if (has_token) {
        r->progress_token = (struct jsonrpc_slice){r->written + m->id.len, token->len};
        memcpy(r->written + m->id.len, json_text_token(&a->connection->text, token), token->len);
    }
    list_init(&r->node);
    list_append(&a->connection->requests, &r->node);
    list_init(&r->same_id);
    list_append(bucket_of(a->connection, r->id), &r->same_id);
    list_init(&r->same_origin);
    if (r->origin)
        list_append(&r->origin->requests, &r->same_origin);
    a->connection->weight += r->weight;
    if (r->batch)
        r->batch->pending++;
    return r;
}

static void request_free(struct request *r)
{
    struct connection *c = r->connection;
    struct batch *batch = r->batch;
    struct transport_origin *origin = r->origin;

    list_remove(&r->node);
    list_remove(&r->same_id);
    list_remove(&r->same_origin);
    c->weight -= r->weight;
    c->owes_idle = true;
    server_log_forget(c, r->log_level);
    json_decref(r->capabilities);
    free(r);
    batch_unref(batch);
    say_over(c, origin);
    say_idle(c);
}

const char *request_method(const struct request *r)
{
    return r->method->name;
}

bool request_is_modern(const struct request *r)
{
    return r->revision->is_modern;
}

bool request_is_in_batch(const struct request *r)
{
    return r->batch != NULL;
}

bool request_can(const struct request *r, const char *capability)
{
    return json_is_object(json_object_get(r->capabilities, capability));
}

struct strbuf *request_result_of(struct request *r, const char *type)
{
    struct strbuf *out = begin_answer(r->connection, r->batch);

    jsonrpc_begin_result(out, r->id);
    if (r->revision->is_modern)
        strbuf_addf(out, "\"resultType\":\"%s\",", type);
    return out;
}

struct strbuf *request_result(struct request *r)
{
    return request_result_of(r, "complete");
}

void request_send(struct request *r, const struct strbuf *text)
{
    connection_notify(r->connection, r->origin, text);
}

void request_await(struct request *r, void *pending, void (*cancel)(void *pending))
{
    r->pending = pending;
    r->cancel = cancel;
}

void request_finish(struct request *r)
{
    struct connection *c = r->connection;
    struct strbuf *out = r->batch ? &r->batch->replies : &c->out;

    if (r->revision->is_modern) {
        if (out->bytes[out->len - 1] != ',')
            strbuf_addc(out, ',');
        if (r->method->ttl_ms >= 0)
            strbuf_addf(out, "\"ttlMs\":%d,\"cacheScope\":\"%s\",", r->method->ttl_ms,
                        r->method->is_public ? "public" : "private");
        ADD_LITERAL(out, "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO);
        if (r->is_stream) {
            ADD_LITERAL(out, ",\"" META_SUBSCRIPTION "\":");
            strbuf_add(out, r->id.bytes, r->id.len);
        }
        strbuf_addc(out, '}');
    }
    jsonrpc_end_result(out);
    if (!r->batch)
        send_out(c, r->origin, TRANSPORT_RESULT, 0);
    request_free(r);
}

void request_fail_with(struct request *r, enum jsonrpc_code code, const char *message, const char *data)
{
    refuse(r->connection, r->origin, r->batch, TRANSPORT_ERROR, r->id, code, message, data);
    request_free(r);
}

void request_fail(struct request *r, enum jsonrpc_code code, const char *format, ...)
{
    char message[700];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    request_fail_with(r, code, message, NULL);
}

void request_stays_open(struct request *r, void *pending, void (*cancel)(void *pending))
{
    struct connection *c = r->connection;

    r->is_stream = true;
    r->pending = pending;
    r->cancel = cancel;
    list_remove(&r->node);
    list_append(&c->streams, &r->node);
    server_log_forget(c, r->log_level);
    r->log_level = -1;
    c->owes_idle = true;
    say_idle(c);
}

void request_progress(struct request *r, double elapsed_s, const char *message)
{
    struct connection *c = r->connection;
    int64_t progress_ms = 0;

    if (!r->progress_token.bytes)
        return;
    /* Written so that what is no number at all counts as not growing. */
    if (elapsed_s >= 0 && elapsed_s < 1e12)
        progress_ms = (int64_t)(elapsed_s * 1000);
    if (progress_ms <= r->progress_ms)
        progress_ms = r->progress_ms + 1;
    r->progress_ms = progress_ms;
    strbuf_clear(&c->out);
    jsonrpc_begin_notification(&c->out, "notifications/progress");
    ADD_LITERAL(&c->out, "\"progressToken\":");
    strbuf_add(&c->out, r->progress_token.bytes, r->progress_token.len);
    strbuf_addf(&c->out, ",\"progress\":%" PRId64 ".%03d", progress_ms / 1000, (int)(progress_ms % 1000));
    if (message && r->revision->has_progress_message) {
        ADD_LITERAL(&c->out, ",\"message\":");
        json_text_add_string(&c->out, message, strlen(message));
    }
    jsonrpc_end_notification(&c->out);
    send_out(c, r->origin, TRANSPORT_NOTIFICATION, 0);
}

static struct request *find_request(struct connection *c, const struct transport_origin *origin,
                                    struct jsonrpc_slice id)
{
    struct list *bucket = bucket_of(c, id), *node, *following;
    struct request *r;

    list_for_each(node, following, bucket)
    {
        r = list_entry(node, struct request, same_id);
        if (r->id.len == id.len && memcmp(r->id.bytes, id.bytes, id.len) == 0 &&
            (!c->options.is_stateless || r->origin == origin))
            return r;
    }
    return NULL;
}

static void request_cancel(struct request *r)
{
    if (r->pending) {
        CHECK(r->cancel);
        r->cancel(r->pending);
        r->pending = NULL;
    }
    request_free(r);
}

void connection_cancel(struct connection *c, struct jsonrpc_slice id)
{
    /* Where there is no state, closing the stream is how to cancel. */
    struct request *r = id.bytes && !c->options.is_stateless ? find_request(c, NULL, id) : NULL;

    if (r)
        request_cancel(r);
}

void connection_abandon(struct connection *c, struct transport_origin *origin)
{
    CHECK(!origin->is_handling);
    origin->is_abandoned = true;
    while (!list_is_empty(&origin->requests))
        request_cancel(list_entry(origin->requests.next, struct request, same_origin));
}

void connection_shake_hands(struct connection *c)
{
    if (c->has_shaken_hands)
        return;
    c->has_shaken_hands = true;
    if (c->options.on_handshake)
        c->options.on_handshake(c->options.arg);
}

static void send_nothing(void *arg, const struct transport_message *message)
{
    (void)arg;
    (void)message;
}

void connection_free(struct connection *c)
{
    if (!c)
        return;
    CHECK(!c->is_handling);
    c->options.send = send_nothing;
    c->options.on_over = NULL;
    c->options.on_idle = NULL;
    while (!list_is_empty(&c->requests))
        request_cancel(list_entry(c->requests.next, struct request, node));
    while (!list_is_empty(&c->streams))
        request_cancel(list_entry(c->streams.next, struct request, node));
    subscriptions_fini(c);
    server_log_fini(c);
    json_decref(c->capabilities);
    free(c->listing);
    json_text_fini(&c->text);
    strbuf_fini(&c->out);
    free(c);
}

/*
 * The revision of a request that brings its own envelope. NULL: it was refused.
 *
 * Source      MCP 2026-07-28, request metadata
 */
static const struct revision *modern_revision(const struct arrival *a, const json_t *meta)
{
    const json_t *version = json_object_get(meta, META_VERSION),
                 *level = json_object_get(meta, META_LOG_LEVEL);
    const struct revision *revision;
    struct strbuf data;

    if (!json_is_string(version)) {
        refuse_arrival(a, JSONRPC_INVALID_PARAMS, "Invalid params: _meta: " META_VERSION " must be a string");
        return NULL;
    }
    revision = revisions_find(json_string_value(version), json_string_length(version));
    if (!revision || !revision->is_modern) {
        strbuf_init(&data, 0);
        ADD_LITERAL(&data, "{\"supported\":");
        revisions_add_names(&data);
        ADD_LITERAL(&data, ",\"requested\":");
        json_text_add_string(&data, json_string_value(version), json_string_length(version));
        ADD_LITERAL(&data, "}");
        refuse_arrival_with(a, JSONRPC_UNSUPPORTED_VERSION,
                            revision
                                ? "Unsupported protocol version: this one begins with initialize, without "
                                  "_meta keys"
                                : "Unsupported protocol version",
                            strbuf_string(&data));
        strbuf_fini(&data);
        return NULL;
    }
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES))) {
        refuse_arrival(a, JSONRPC_INVALID_PARAMS,
                       "Invalid params: _meta: " META_CAPABILITIES " must be an object");
        return NULL;
    }
    if (level && server_log_level(level) == SERVER_LOG_UNKNOWN) {
        refuse_arrival(a, JSONRPC_INVALID_PARAMS,
                       "Invalid params: _meta: " META_LOG_LEVEL " must be a level, from debug to emergency");
        return NULL;
    }
    if (a->batch) {
        refuse_arrival(a, JSONRPC_INVALID_REQUEST, "Invalid Request: %s has no batches", revision->name);
        return NULL;
    }
    return revision;
}

static void refuse_method(const struct arrival *a, struct jsonrpc_slice name, const struct revision *revision)
{
    const char *nearest;
    char asked[128];

    snprintf(asked, sizeof asked, "%.*s", jsonrpc_quotable(name), name.bytes);
    nearest = method_nearest(asked, revision->is_modern);
    if (nearest)
        refuse_arrival(a, JSONRPC_METHOD_NOT_FOUND, "Method not found: %s. Did you mean %s?", asked, nearest);
    else
        refuse_arrival(a, JSONRPC_METHOD_NOT_FOUND, "Method not found: %s", asked);
}

static void handle_request(const struct arrival *a, const struct jsonrpc_message *m)
{
    struct connection *c = a->connection;
    const json_t *meta = json_object_get(m->params, "_meta");
    const struct method *method = method_find(m->method.bytes, m->method.len);
    const struct revision *revision = c->negotiated;
    const struct transport_headers *headers = a->origin ? a->origin->headers : NULL;
    const char *reason;
    enum json_token_kind token = a->tokens->progress_token.kind;
    struct request *r;

    if (find_request(c, a->origin, m->id)) {
        refuse_arrival(a, JSONRPC_INVALID_REQUEST,
                       "Invalid Request: another request with this id is under way");
        return;
    }
    if (json_object_get(meta, META_VERSION) || request_headers_are_modern(headers)) {
        reason = request_headers_refuse_version(headers, meta, m->method);
        if (reason) {
            refuse_arrival(a, JSONRPC_HEADER_MISMATCH, "Header mismatch: %s", reason);
            return;
        }
        revision = modern_revision(a, meta);
        if (!revision)
            return;
        reason = request_headers_refuse_request(headers, m->method, method, m->params);
        if (reason) {
            refuse_arrival(a, JSONRPC_HEADER_MISMATCH, "Header mismatch: %s", reason);
            return;
        }
    } else if (!revision) {
        /* Before the handshake the newest of the old revisions stands in: only its shape of errors is needed.
         */
        revision = revisions_negotiate("", 0);
        if (method && method->needs_handshake) {
            refuse_arrival(a, JSONRPC_INVALID_PARAMS,
                           "Not initialized: send initialize first, or put the keys " META_VERSION
                           " and " META_CAPABILITIES " into params._meta");
            return;
        }
    }
    if (!method || !(revision->is_modern ? method->is_modern : method->is_legacy)) {
        refuse_method(a, m->method, revision);
        return;
    }
    if (meta && !json_is_object(meta) && !json_is_null(meta)) {
        refuse_arrival(a, JSONRPC_INVALID_PARAMS, "Invalid params: _meta must be an object");
        return;
    }
    if (token == JSON_TOKEN_OTHER) {
        refuse_arrival(a, JSONRPC_INVALID_PARAMS,
                       "Invalid params: _meta: progressToken must be a string or an integer");
        return;
    }
    if (a->batch && !method->allows_batch) {
        refuse_arrival(a, JSONRPC_INVALID_REQUEST, "Invalid Request: %s must not be in a batch",
                       method->name);
        return;
    }
    if (c->weight + a->tokens->len + OWN_WEIGHT > MOST_WEIGHT) {
        refuse_arrival(a, JSONRPC_INTERNAL_ERROR,
                       "Too much is under way: wait for answers before sending more");
        return;
    }
    r = request_new(a, m, revision, method);
    if (revision->is_modern && json_object_get(meta, META_LOG_LEVEL)) {
        r->log_level = server_log_level(json_object_get(meta, META_LOG_LEVEL));
        server_log_want(c, r->log_level);
    }
    if (c->options.extension) {
        r->capabilities =
            json_incref(revision->is_modern ? json_object_get(meta, META_CAPABILITIES) : c->capabilities);
        if (c->options.extension->take(c->options.extension, r, m->params))
            return;
    }
    method->run(r, m->params);
}

static const char *refused_sort(enum jsonrpc_code code)
{
    return code == JSONRPC_INVALID_PARAMS ? "Invalid params" : "Invalid Request";
}

/* One message of its own or of a batch: the text at a->tokens, which the scanner found well-formed. */
static void handle_arrival(const struct arrival *a)
{
    const struct notification *notification;
    struct jsonrpc_message m;
    json_error_t error;
    json_t *object;

    if (!a->tokens->is_object) {
        refuse_arrival(a, JSONRPC_INVALID_REQUEST, "Invalid Request: a message must be an object");
        return;
    }
    object = json_loadb(a->bytes + a->tokens->at, a->tokens->len, JSON_ALLOW_NUL, &error);
    if (!object) {
        refuse_arrival(a, JSONRPC_INVALID_REQUEST,
                       "Invalid Request: more than this server takes: %s (byte %d)", error.text,
                       error.position);
        return;
    }
    m = jsonrpc_classify(object, &a->connection->text, a->tokens);
    switch (m.kind) {
    case JSONRPC_REQUEST:
        handle_request(a, &m);
        break;
    case JSONRPC_NOTIFICATION:
        notification = notification_find(m.method.bytes, m.method.len);
        if (notification)
            notification->run(a->connection, a->tokens);
        break;
    case JSONRPC_RESPONSE:
        if (a->connection->options.extension)
            a->connection->options.extension->on_response(a->connection->options.extension, object);
        break;
    case JSONRPC_REFUSED:
        refuse_arrival(a, m.code, "%s: %s", refused_sort(m.code), m.reason);
        break;
    }
    json_decref(object);
}

/* What came is no message that could be taken apart. */
static void refuse_all(struct connection *c, struct transport_origin *origin, enum jsonrpc_code code,
                       const char *message)
{
    refuse(c, origin, NULL, TRANSPORT_REFUSAL, (struct jsonrpc_slice){NULL, 0}, code, message, NULL);
}

static void handle_batch(struct connection *c, struct transport_origin *origin, char *bytes)
{
    struct batch *batch;
    size_t i;

    if (!c->negotiated || !c->negotiated->has_batches) {
        refuse_all(c, origin, JSONRPC_INVALID_REQUEST,
                   "Invalid Request: batches exist in revision 2025-03-26 only");
        return;
    }
    if (c->text.count == 0 || c->text.count > JSON_TEXT_MAX_MESSAGES) {
        refuse_all(c, origin, JSONRPC_INVALID_REQUEST,
                   c->text.count ? "Invalid Request: a batch has at most 100 messages"
                                 : "Invalid Request: empty batch");
        return;
    }
    batch = xcalloc(1, sizeof *batch);
    batch->connection = c;
    batch->origin = origin;
    batch->pending = 1;
    strbuf_init(&batch->replies, 0);
    for (i = 0; i < c->text.count; i++)
        handle_arrival(&(struct arrival){c, origin, batch, bytes, &c->text.messages[i]});
    batch_unref(batch);
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
                 "Invalid Request: %zu JSON values in a message, at most %d are taken", c->text.value_count,
                 JSON_TEXT_MAX_VALUES);
        if (c->text.root == JSON_TEXT_OBJECT)
            refuse_arrival_with(&whole, JSONRPC_INVALID_REQUEST, message, NULL);
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
    if (origin) {
        *origin = (struct transport_origin){.headers = origin->headers, .is_handling = true};
        list_init(&origin->requests);
    }
    handle(c, origin, bytes, len);
    c->is_handling = false;
    if (origin) {
        origin->is_handling = false;
        say_over(c, origin);
    }
    say_idle(c);
}

void connection_end(struct connection *c)
{
    subscriptions_end(c);
}

void connection_oversized(struct connection *c)
{
    char message[120];

    snprintf(message, sizeof message, "Invalid Request: a message may have at most %u bytes",
             TRANSPORT_MAX_MESSAGE);
    refuse_all(c, NULL, JSONRPC_INVALID_REQUEST, message);
}
