/*
 * Responsible for requests in progress: from request_new() to the one answer, in the shape of their revision.
 * The methods are in the files of their families; admission.c decides whether a message becomes a request.
 */
#include "mcp/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "mcp/batch.h"
#include "mcp/client.h"
#include "base/json_write.h"
#include "mcp/method.h"
#include "mcp/requests.h"
#include "mcp/revisions.h"
#include "mcp/server_info.h"
#include "mcp/server_log.h"

/* Requests in progress may occupy this much; each counts as its own text and a little more. */
#define MOST_WEIGHT (256u << 20)
#define OWN_WEIGHT 1024

struct request {
    struct list node;         /* in requests.under_way or in requests.streams */
    struct list same_origin;  /* in the list of its origin, if it has one */
    struct hash_node same_id; /* in requests.by_id */
    struct arrival arrival;   /* its slices are in ${written} */
    struct server_log_reader log_reader;
    struct strbuf answer; /* being written */
    void *pending;        /* request_await() */
    void (*cancel)(void *pending);
    bool is_stream;      /* request_stays_open() */
    int64_t progress_ms; /* when progress was last sent; -1: not yet */
    char written[];
};

void requests_init(struct client *client)
{
    list_init(&client->requests.under_way);
    list_init(&client->requests.streams);
    hash_table_init(&client->requests.by_id);
}

bool requests_are_idle(const struct client *client)
{
    return list_is_empty(&client->requests.under_way);
}

/* Whatever ends last calls this: the last request of a message, or the handling of it. */
static void report_over(struct client *client, struct transport_origin *origin)
{
    if (origin == NULL || origin->is_handling || origin->is_abandoned || !list_is_empty(&origin->requests))
        return;
    if (client->options.on_over != NULL)
        client->options.on_over(client->options.arg, origin);
}

/* on_idle() may free the client, so nothing may be used after it. */
static void report_idle(struct client *client)
{
    struct requests *rs = &client->requests;
    if (!rs->owes_idle || rs->is_held || !requests_are_idle(client))
        return;
    rs->owes_idle = false;
    if (client->options.on_idle != NULL)
        client->options.on_idle(client->options.arg);
}

void requests_hold(struct client *client, struct transport_origin *origin)
{
    CHECK(!client->requests.is_held);
    client->requests.is_held = true;
    if (origin == NULL)
        return;
    *origin = (struct transport_origin){.headers = origin->headers, .is_handling = true};
    list_init(&origin->requests);
}

void requests_release(struct client *client, struct transport_origin *origin)
{
    client->requests.is_held = false;
    if (origin != NULL) {
        origin->is_handling = false;
        report_over(client, origin);
    }
    report_idle(client);
}

static uint64_t hash_of(const struct client *client, struct jsonrpc_slice id)
{
    return hash_bytes(id.bytes, id.len, (uintptr_t)client);
}

/* The first from ${node} on that came with ${origin}; NULL: with any. */
static struct request *find_from(struct hash_node *node, const struct transport_origin *origin,
                                 struct jsonrpc_slice id)
{
    for (; node != NULL; node = hash_table_next(node)) {
        struct request *r = hash_table_entry(node, struct request, same_id);
        if (r->arrival.id.len == id.len && memcmp(r->arrival.id.bytes, id.bytes, id.len) == 0 &&
            (origin == NULL || r->arrival.origin == origin))
            return r;
    }
    return NULL;
}

static struct request *find(const struct client *client, const struct transport_origin *origin,
                            struct jsonrpc_slice id)
{
    return find_from(hash_table_first(&client->requests.by_id, hash_of(client, id)), origin, id);
}

/* Some clients give all their requests over HTTP the same id. */
bool requests_have(const struct arrival *a)
{
    return find(a->client, a->origin, a->id) != NULL;
}

bool requests_have_room(const struct client *client, size_t len)
{
    return client->requests.weight + len + OWN_WEIGHT <= MOST_WEIGHT;
}

static struct jsonrpc_slice keep(char *place, struct jsonrpc_slice slice)
{
    if (slice.bytes == NULL)
        return slice;
    memcpy(place, slice.bytes, slice.len);
    return (struct jsonrpc_slice){place, slice.len};
}

struct request *request_new(const struct arrival *a)
{
    struct requests *rs = &a->client->requests;
    struct request *r = xmalloc(sizeof *r + a->id.len + a->progress_token.len);
    *r = (struct request){.arrival = *a, .progress_ms = -1};
    r->arrival.id = keep(r->written, a->id);
    r->arrival.progress_token = keep(r->written + a->id.len, a->progress_token);
    json_incref(r->arrival.capabilities);
    list_init(&r->node);
    list_append(&rs->under_way, &r->node);
    list_init(&r->same_origin);
    if (a->origin != NULL)
        list_append(&a->origin->requests, &r->same_origin);
    hash_table_add(&rs->by_id, &r->same_id, hash_of(a->client, a->id));
    rs->weight += a->len + OWN_WEIGHT;
    if (a->batch != NULL)
        batch_hold(a->batch);
    server_log_add(a->client, &r->log_reader, a->log_level, a->origin);
    return r;
}

static void request_free(struct request *r)
{
    const struct arrival a = r->arrival;
    struct requests *rs = &a.client->requests;
    server_log_remove(a.client, &r->log_reader);
    list_remove(&r->node);
    list_remove(&r->same_origin);
    hash_table_remove(&rs->by_id, &r->same_id);
    rs->weight -= a.len + OWN_WEIGHT;
    rs->owes_idle = true;
    json_decref(a.capabilities);
    strbuf_fini(&r->answer);
    free(r);
    if (a.batch != NULL)
        batch_release(a.batch);
    report_over(a.client, a.origin);
    report_idle(a.client);
}

static void give_up(struct request *r)
{
    if (r->pending != NULL)
        r->cancel(r->pending);
    request_free(r);
}

void requests_cancel(struct client *client, struct jsonrpc_slice id)
{
    struct request *r = find(client, NULL, id);
    if (r != NULL && find_from(hash_table_next(&r->same_id), NULL, id) == NULL)
        give_up(r);
}

void requests_abandon(struct client *client, struct transport_origin *origin)
{
    CHECK(!origin->is_handling);
    origin->is_abandoned = true;
    while (!list_is_empty(&origin->requests))
        give_up(list_entry(origin->requests.next, struct request, same_origin));
}

void requests_fini(struct client *client)
{
    struct requests *rs = &client->requests;
    CHECK(!rs->is_held);
    client->options.on_over = NULL;
    client->options.on_idle = NULL;
    while (!list_is_empty(&rs->under_way))
        give_up(list_entry(rs->under_way.next, struct request, node));
    while (!list_is_empty(&rs->streams))
        give_up(list_entry(rs->streams.next, struct request, node));
    hash_table_fini(&rs->by_id);
}

struct client *request_client(const struct request *r)
{
    return r->arrival.client;
}

const struct revision *request_revision(const struct request *r)
{
    return r->arrival.revision;
}

const struct arrival *request_arrival(const struct request *r)
{
    return &r->arrival;
}

bool request_may_send(const struct request *r)
{
    const struct transport_origin *origin = r->arrival.origin;
    return origin == NULL || origin->headers == NULL || !origin->headers->wants_answer_only;
}

bool request_can_extension(const struct request *r, const char *name)
{
    const json_t *declared = json_object_get(r->arrival.capabilities, "extensions");
    return r->arrival.revision->is_modern && json_is_object(json_object_get(declared, name));
}

void request_await(struct request *r, void *pending, void (*cancel)(void *pending))
{
    r->pending = pending;
    r->cancel = cancel;
}

void request_stays_open(struct request *r)
{
    struct client *client = r->arrival.client;
    r->is_stream = true;
    list_remove(&r->node);
    list_append(&client->requests.streams, &r->node);
    server_log_remove(client, &r->log_reader);
    client->requests.owes_idle = true;
    report_idle(client);
}

void request_send(struct request *r, const struct strbuf *text)
{
    if (r->arrival.origin == NULL || !r->arrival.origin->is_abandoned)
        client_notify(r->arrival.client, r->arrival.origin, text);
}

void request_progress(struct request *r, double elapsed_s, const char *message)
{
    if (r->arrival.progress_token.bytes == NULL)
        return;
    /* Written so that NaN counts as not growing. */
    int64_t progress_ms = elapsed_s >= 0 && elapsed_s < 1e12 ? (int64_t)(elapsed_s * 1000) : 0;
    if (progress_ms <= r->progress_ms)
        progress_ms = r->progress_ms + 1;
    r->progress_ms = progress_ms;
    struct strbuf text = {0};
    jsonrpc_begin_notification(&text, "notifications/progress");
    strbuf_adds(&text, "\"progressToken\":");
    strbuf_add(&text, r->arrival.progress_token.bytes, r->arrival.progress_token.len);
    strbuf_addf(&text, ",\"progress\":%" PRId64 ".%03d", progress_ms / 1000, (int)(progress_ms % 1000));
    if (message != NULL && r->arrival.revision->has_progress_message) {
        strbuf_adds(&text, ",\"message\":");
        json_write_string(&text, message, strlen(message));
    }
    jsonrpc_end_notification(&text);
    client_notify(r->arrival.client, r->arrival.origin, &text);
    strbuf_fini(&text);
}

struct strbuf *request_result_of(struct request *r, const char *type)
{
    jsonrpc_begin_result(&r->answer, r->arrival.id);
    if (r->arrival.revision->is_modern)
        strbuf_addf(&r->answer, "\"resultType\":\"%s\",", type);
    return &r->answer;
}

struct strbuf *request_result(struct request *r)
{
    return request_result_of(r, "complete");
}

/* Members that every result has since 2026-07-28, besides those of its method. */
static void add_modern_members(struct request *r)
{
    const struct method *method = r->arrival.method;
    struct strbuf *out = &r->answer;
    if (out->bytes[out->len - 1] != ',')
        strbuf_addc(out, ',');
    if (method->is_cached)
        strbuf_addf(out, "\"ttlMs\":%d,\"cacheScope\":\"%s\",", method->ttl_ms,
                    method->is_public ? "public" : "private");
    strbuf_adds(out, "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO);
    if (r->is_stream) {
        strbuf_adds(out, ",\"" META_SUBSCRIPTION "\":");
        strbuf_add(out, r->arrival.id.bytes, r->arrival.id.len);
    }
    strbuf_addc(out, '}');
}

/* Send ${text}, an answer, or add it to those of the batch. */
static void answer(const struct arrival *a, enum transport_kind kind, int code, const struct strbuf *text)
{
    if (a->batch != NULL)
        batch_add(a->batch, text);
    else
        client_send(a->client, a->origin, kind, code, text);
}

bool request_accept(struct request *r)
{
    request_result(r);
    return request_finish(r);
}

bool request_finish(struct request *r)
{
    if (r->arrival.batch != NULL && batch_is_full(r->arrival.batch))
        return request_fail(r, JSONRPC_INTERNAL_ERROR, "This was carried out, but its answer is left out: %s",
                            BATCH_IS_FULL);
    if (r->arrival.revision->is_modern)
        add_modern_members(r);
    jsonrpc_end_result(&r->answer);
    answer(&r->arrival, TRANSPORT_RESULT, 0, &r->answer);
    request_free(r);
    return true;
}

/* ${kind} says whether a method has run. */
static void answer_error(const struct arrival *a, enum transport_kind kind, enum jsonrpc_code code,
                         const char *message, const char *data)
{
    struct strbuf text = {0};
    jsonrpc_add_error(&text, a->id, code, message, data);
    answer(a, kind, code, &text);
    strbuf_fini(&text);
}

void arrival_refuse(const struct arrival *a, enum jsonrpc_code code, const char *message, const char *data)
{
    answer_error(a, TRANSPORT_REFUSAL, code, message, data);
}

bool request_fail_with(struct request *r, enum jsonrpc_code code, const char *message, const char *data)
{
    answer_error(&r->arrival, TRANSPORT_ERROR, code, message, data);
    request_free(r);
    return false;
}

bool request_fail(struct request *r, enum jsonrpc_code code, const char *format, ...)
{
    char message[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return request_fail_with(r, code, message, NULL);
}

bool request_check_cursor(struct request *r, const json_t *params)
{
    const json_t *cursor = json_object_get(params, "cursor");
    return cursor == NULL || json_is_null(cursor) ||
           request_fail(r, JSONRPC_INVALID_PARAMS,
                        "Invalid params: unknown cursor; every list is a single page");
}
