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
#include "mcp/outbox.h"
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
    struct requests *all;
    struct request_options options; /* its slices are in ${written} */
    struct server_log_reader log_reader;
    void *pending; /* request_await() */
    void (*cancel)(void *pending);
    bool is_stream;      /* request_stays_open() */
    int64_t progress_ms; /* when progress was last sent; -1: not yet */
    char written[];
};

struct requests {
    struct requests_options options;
    struct list under_way; /* the oldest first */
    struct list streams;   /* requests that stay open, for which nothing waits */
    struct hash_table by_id;
    size_t weight;  /* bytes that they count as */
    bool is_held;   /* a message is being handled */
    bool owes_idle; /* the last has ended, but on_idle() was not called yet */
};

struct requests *requests_new(const struct requests_options *options)
{
    struct requests *rs = xcalloc(1, sizeof *rs);
    rs->options = *options;
    list_init(&rs->under_way);
    list_init(&rs->streams);
    hash_table_init(&rs->by_id);
    return rs;
}

bool requests_are_idle(const struct requests *rs)
{
    return list_is_empty(&rs->under_way);
}

/* Whatever ends last calls this: the last request of a message, or the handling of it. */
static void report_over(struct requests *rs, struct transport_origin *origin)
{
    if (origin == NULL || origin->is_handling || origin->is_abandoned || !list_is_empty(&origin->requests))
        return;
    if (rs->options.on_over != NULL)
        rs->options.on_over(rs->options.arg, origin);
}

/* on_idle() may free the requests, so nothing may be used after it. */
static void report_idle(struct requests *rs)
{
    if (!rs->owes_idle || rs->is_held || !requests_are_idle(rs))
        return;
    rs->owes_idle = false;
    if (rs->options.on_idle != NULL)
        rs->options.on_idle(rs->options.arg);
}

void requests_hold(struct requests *rs, struct transport_origin *origin)
{
    CHECK(!rs->is_held);
    rs->is_held = true;
    if (origin == NULL)
        return;
    *origin = (struct transport_origin){.headers = origin->headers, .is_handling = true};
    list_init(&origin->requests);
}

void requests_release(struct requests *rs, struct transport_origin *origin)
{
    rs->is_held = false;
    if (origin != NULL) {
        origin->is_handling = false;
        report_over(rs, origin);
    }
    report_idle(rs);
}

static uint64_t hash_of(const struct requests *rs, struct jsonrpc_slice id)
{
    return hash_bytes(id.bytes, id.len, (uintptr_t)rs);
}

static struct request *find(const struct requests *rs, const struct transport_origin *origin,
                            struct jsonrpc_slice id)
{
    struct hash_node *node = hash_table_first(&rs->by_id, hash_of(rs, id));
    for (; node != NULL; node = hash_table_next(node)) {
        struct request *r = hash_table_entry(node, struct request, same_id);
        if (r->options.id.len == id.len && memcmp(r->options.id.bytes, id.bytes, id.len) == 0 &&
            (!rs->options.is_stateless || r->options.origin == origin))
            return r;
    }
    return NULL;
}

bool requests_have(const struct requests *rs, const struct transport_origin *origin, struct jsonrpc_slice id)
{
    return find(rs, origin, id) != NULL;
}

bool requests_have_room(const struct requests *rs, size_t len)
{
    return rs->weight + len + OWN_WEIGHT <= MOST_WEIGHT;
}

static struct jsonrpc_slice keep(char *place, struct jsonrpc_slice slice)
{
    if (slice.bytes == NULL)
        return slice;
    memcpy(place, slice.bytes, slice.len);
    return (struct jsonrpc_slice){place, slice.len};
}

struct request *request_new(struct requests *rs, const struct request_options *options)
{
    struct request *r = xmalloc(sizeof *r + options->id.len + options->progress_token.len);
    *r = (struct request){.all = rs, .options = *options, .progress_ms = -1};
    r->options.id = keep(r->written, options->id);
    r->options.progress_token = keep(r->written + options->id.len, options->progress_token);
    json_incref(r->options.capabilities);
    list_init(&r->node);
    list_append(&rs->under_way, &r->node);
    list_init(&r->same_origin);
    if (options->origin != NULL)
        list_append(&options->origin->requests, &r->same_origin);
    hash_table_add(&rs->by_id, &r->same_id, hash_of(rs, r->options.id));
    rs->weight += options->len + OWN_WEIGHT;
    if (options->batch != NULL)
        batch_hold(options->batch);
    server_log_add(options->client->log, &r->log_reader, options->log_level, options->origin);
    return r;
}

static void request_free(struct request *r)
{
    struct requests *rs = r->all;
    struct batch *batch = r->options.batch;
    struct transport_origin *origin = r->options.origin;
    server_log_remove(r->options.client->log, &r->log_reader);
    list_remove(&r->node);
    list_remove(&r->same_origin);
    hash_table_remove(&rs->by_id, &r->same_id);
    rs->weight -= r->options.len + OWN_WEIGHT;
    rs->owes_idle = true;
    json_decref(r->options.capabilities);
    free(r);
    if (batch != NULL)
        batch_release(batch);
    report_over(rs, origin);
    report_idle(rs);
}

static void give_up(struct request *r)
{
    if (r->pending != NULL)
        r->cancel(r->pending);
    request_free(r);
}

void requests_cancel(struct requests *rs, struct jsonrpc_slice id)
{
    struct request *r = find(rs, NULL, id);
    if (r != NULL)
        give_up(r);
}

void requests_abandon(struct requests *rs, struct transport_origin *origin)
{
    CHECK(!origin->is_handling);
    origin->is_abandoned = true;
    while (!list_is_empty(&origin->requests))
        give_up(list_entry(origin->requests.next, struct request, same_origin));
}

void requests_free(struct requests *rs)
{
    if (rs == NULL)
        return;
    CHECK(!rs->is_held);
    rs->options.on_over = NULL;
    rs->options.on_idle = NULL;
    while (!list_is_empty(&rs->under_way))
        give_up(list_entry(rs->under_way.next, struct request, node));
    while (!list_is_empty(&rs->streams))
        give_up(list_entry(rs->streams.next, struct request, node));
    hash_table_fini(&rs->by_id);
    free(rs);
}

struct client *request_client(const struct request *r)
{
    return r->options.client;
}

const struct revision *request_revision(const struct request *r)
{
    return r->options.revision;
}

const char *request_method(const struct request *r)
{
    return r->options.method->name;
}

struct jsonrpc_slice request_id(const struct request *r)
{
    return r->options.id;
}

bool request_is_in_batch(const struct request *r)
{
    return r->options.batch != NULL;
}

bool request_wants_progress(const struct request *r)
{
    return r->options.progress_token.bytes != NULL;
}

const json_t *request_capability(const struct request *r, const char *name)
{
    return json_object_get(r->options.capabilities, name);
}

bool request_may_send(const struct request *r)
{
    const struct transport_origin *origin = r->options.origin;
    return origin == NULL || origin->headers == NULL || !origin->headers->wants_answer_only;
}

bool request_can_extension(const struct request *r, const char *name)
{
    const json_t *declared = json_object_get(r->options.capabilities, "extensions");
    return r->options.revision->is_modern && json_is_object(json_object_get(declared, name));
}

void request_await(struct request *r, void *pending, void (*cancel)(void *pending))
{
    r->pending = pending;
    r->cancel = cancel;
}

void request_stays_open(struct request *r)
{
    struct requests *rs = r->all;
    r->is_stream = true;
    list_remove(&r->node);
    list_append(&rs->streams, &r->node);
    server_log_remove(r->options.client->log, &r->log_reader);
    rs->owes_idle = true;
    report_idle(rs);
}

void request_send(struct request *r, const struct strbuf *text)
{
    if (r->options.origin == NULL || !r->options.origin->is_abandoned)
        outbox_notify(r->all->options.outbox, r->options.origin, text);
}

void request_progress(struct request *r, double elapsed_s, const char *message)
{
    if (!request_wants_progress(r))
        return;
    /* Written so that NaN counts as not growing. */
    int64_t progress_ms = elapsed_s >= 0 && elapsed_s < 1e12 ? (int64_t)(elapsed_s * 1000) : 0;
    if (progress_ms <= r->progress_ms)
        progress_ms = r->progress_ms + 1;
    r->progress_ms = progress_ms;
    struct outbox *outbox = r->all->options.outbox;
    struct strbuf *out = outbox_begin(outbox);
    jsonrpc_begin_notification(out, "notifications/progress");
    strbuf_adds(out, "\"progressToken\":");
    strbuf_add(out, r->options.progress_token.bytes, r->options.progress_token.len);
    strbuf_addf(out, ",\"progress\":%" PRId64 ".%03d", progress_ms / 1000, (int)(progress_ms % 1000));
    if (message != NULL && r->options.revision->has_progress_message) {
        strbuf_adds(out, ",\"message\":");
        json_write_string(out, message, strlen(message));
    }
    jsonrpc_end_notification(out);
    outbox_end(outbox, r->options.origin, TRANSPORT_NOTIFICATION, 0);
}

static struct strbuf *begin_answer(const struct requests *rs, struct batch *batch)
{
    return batch != NULL ? batch_begin_answer(batch) : outbox_begin(rs->options.outbox);
}

struct strbuf *request_result_of(struct request *r, const char *type)
{
    struct strbuf *out = begin_answer(r->all, r->options.batch);
    jsonrpc_begin_result(out, r->options.id);
    if (r->options.revision->is_modern)
        strbuf_addf(out, "\"resultType\":\"%s\",", type);
    return out;
}

struct strbuf *request_result(struct request *r)
{
    return request_result_of(r, "complete");
}

/* Members that every result has since 2026-07-28, besides those of its method. */
static void add_modern_members(const struct request *r, struct strbuf *out)
{
    const struct method *method = r->options.method;
    if (out->bytes[out->len - 1] != ',')
        strbuf_addc(out, ',');
    if (method->is_cached)
        strbuf_addf(out, "\"ttlMs\":%d,\"cacheScope\":\"%s\",", method->ttl_ms,
                    method->is_public ? "public" : "private");
    strbuf_adds(out, "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO);
    if (r->is_stream) {
        strbuf_adds(out, ",\"" META_SUBSCRIPTION "\":");
        strbuf_add(out, r->options.id.bytes, r->options.id.len);
    }
    strbuf_addc(out, '}');
}

void request_finish(struct request *r)
{
    struct outbox *outbox = r->all->options.outbox;
    struct batch *batch = r->options.batch;
    struct strbuf *out = batch != NULL ? batch_answer(batch) : &outbox->text;
    if (batch != NULL && batch_drop_answer(batch)) {
        request_fail(r, JSONRPC_INTERNAL_ERROR, "This was carried out, but its answer is left out: %s",
                     BATCH_IS_FULL);
        return;
    }
    if (r->options.revision->is_modern)
        add_modern_members(r, out);
    jsonrpc_end_result(out);
    if (batch == NULL)
        outbox_end(outbox, r->options.origin, TRANSPORT_RESULT, 0);
    request_free(r);
}

/* ${kind} says whether a method has run. */
static void add_error(struct requests *rs, struct transport_origin *origin, struct batch *batch,
                      enum transport_kind kind, struct jsonrpc_slice id, enum jsonrpc_code code,
                      const char *message, const char *data)
{
    jsonrpc_add_error(begin_answer(rs, batch), id, code, message, data);
    if (batch == NULL)
        outbox_end(rs->options.outbox, origin, kind, code);
}

void requests_refuse(struct requests *rs, struct transport_origin *origin, struct batch *batch,
                     struct jsonrpc_slice id, enum jsonrpc_code code, const char *message, const char *data)
{
    add_error(rs, origin, batch, TRANSPORT_REFUSAL, id, code, message, data);
}

void request_fail_with(struct request *r, enum jsonrpc_code code, const char *message, const char *data)
{
    add_error(r->all, r->options.origin, r->options.batch, TRANSPORT_ERROR, r->options.id, code, message,
              data);
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

bool request_refuse_cursor(struct request *r, const json_t *params)
{
    const json_t *cursor = json_object_get(params, "cursor");
    if (cursor == NULL || json_is_null(cursor))
        return false;
    request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: unknown cursor; every list is a single page");
    return true;
}
