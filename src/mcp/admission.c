/*
 * Responsible for the checks that a request must pass to reach its method. Each check is a function and a
 * row; the first that fails decides.
 */
#include "mcp/admission.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mcp/batch.h"
#include "mcp/client.h"
#include "base/json_write.h"
#include "mcp/methods.h"
#include "mcp/request_headers.h"
#include "mcp/requests.h"
#include "mcp/revisions.h"
#include "mcp/server_log.h"
#include "mcp/transport.h"

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"

static const json_t *meta_of(const struct jsonrpc_message *m)
{
    return json_object_get(m->params, "_meta");
}

static const struct transport_headers *headers_of(const struct arrival *a)
{
    return a->origin != NULL ? a->origin->headers : NULL;
}

static bool __attribute__((format(printf, 3, 4)))
refuse(const struct arrival *a, enum jsonrpc_code code, const char *format, ...)
{
    char reason[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    arrival_refuse(a, code, reason, NULL);
    return false;
}

static bool check_id_is_free(struct arrival *a, const struct jsonrpc_message *m)
{
    if (!requests_have(a))
        return true;
    return refuse(a, JSONRPC_INVALID_REQUEST, "Invalid Request: another request with this id is in progress");
}

static bool check_version_header(struct arrival *a, const struct jsonrpc_message *m)
{
    const char *reason = request_headers_refuse_version(headers_of(a), meta_of(m), m->method);
    return reason == NULL || refuse(a, JSONRPC_HEADER_MISMATCH, "Header mismatch: %s", reason);
}

static bool refuse_version(const struct arrival *a, const json_t *version, const char *message)
{
    struct strbuf data = {0};
    strbuf_adds(&data, "{\"supported\":");
    revisions_add_names(&data);
    strbuf_adds(&data, ",\"requested\":");
    json_write_string(&data, json_string_value(version), json_string_length(version));
    strbuf_adds(&data, "}");
    arrival_refuse(a, JSONRPC_UNSUPPORTED_VERSION, message, strbuf_string(&data));
    strbuf_fini(&data);
    return false;
}

static bool check_version(struct arrival *a, const struct jsonrpc_message *m)
{
    const json_t *version = json_object_get(meta_of(m), META_VERSION);
    if (!json_is_string(version))
        return refuse(a, JSONRPC_INVALID_PARAMS, "Invalid params: _meta: " META_VERSION " must be a string");
    a->revision = revisions_find(json_string_value(version), json_string_length(version));
    if (a->revision == NULL)
        return refuse_version(a, version, "Unsupported protocol version");
    if (!a->revision->is_modern)
        return refuse_version(a, version,
                              "Unsupported protocol version in _meta: clients of this revision send "
                              "initialize instead");
    return true;
}

static bool check_capabilities(struct arrival *a, const struct jsonrpc_message *m)
{
    a->capabilities = json_object_get(meta_of(m), META_CAPABILITIES);
    return json_is_object(a->capabilities) ||
           refuse(a, JSONRPC_INVALID_PARAMS,
                  "Invalid params: _meta: " META_CAPABILITIES " must be an object");
}

static bool check_log_level(struct arrival *a, const struct jsonrpc_message *m)
{
    const json_t *level = json_object_get(meta_of(m), META_LOG_LEVEL);
    if (level == NULL)
        return true;
    a->log_level = server_log_level(level);
    return a->log_level != SERVER_LOG_UNKNOWN ||
           refuse(a, JSONRPC_INVALID_PARAMS,
                  "Invalid params: _meta: " META_LOG_LEVEL " must be a level, from debug to emergency");
}

static bool check_revision_has_batches(struct arrival *a, const struct jsonrpc_message *m)
{
    return a->batch == NULL ||
           refuse(a, JSONRPC_INVALID_REQUEST, "Invalid Request: %s has no batches", a->revision->name);
}

static bool check_other_headers(struct arrival *a, const struct jsonrpc_message *m)
{
    const char *reason = request_headers_refuse_request(headers_of(a), m->method, a->method, m->params);
    return reason == NULL || refuse(a, JSONRPC_HEADER_MISMATCH, "Header mismatch: %s", reason);
}

static bool check_handshake(struct arrival *a, const struct jsonrpc_message *m)
{
    a->capabilities = a->client->capabilities;
    a->revision = a->client->negotiated;
    if (a->revision != NULL)
        return true;
    /* Before the handshake, the newest revision that has one is assumed: only its shape of errors is
     * needed. */
    a->revision = revisions_negotiate("", 0);
    return a->method == NULL || a->method->precedes_handshake ||
           refuse(a, JSONRPC_INVALID_PARAMS,
                  "Not initialized: send initialize first, or put the keys " META_VERSION
                  " and " META_CAPABILITIES " into params._meta");
}

static bool check_method(struct arrival *a, const struct jsonrpc_message *m)
{
    bool is_modern = a->revision->is_modern;
    if (a->method != NULL && (is_modern ? a->method->is_modern : a->method->is_legacy))
        return true;
    char name[128];
    snprintf(name, sizeof name, "%.*s", jsonrpc_quotable(m->method), m->method.bytes);
    const char *nearest = method_nearest(name, is_modern);
    if (nearest != NULL)
        return refuse(a, JSONRPC_METHOD_NOT_FOUND, "Method not found: %s. Did you mean %s?", name, nearest);
    return refuse(a, JSONRPC_METHOD_NOT_FOUND, "Method not found: %s", name);
}

static bool check_meta(struct arrival *a, const struct jsonrpc_message *m)
{
    const json_t *meta = meta_of(m);
    return meta == NULL || json_is_object(meta) || json_is_null(meta) ||
           refuse(a, JSONRPC_INVALID_PARAMS, "Invalid params: _meta must be an object");
}

static bool check_progress_token(struct arrival *a, const struct jsonrpc_message *m)
{
    const json_t *token = json_object_get(meta_of(m), "progressToken");
    return token == NULL || json_is_null(token) || json_is_string(token) || json_is_integer(token) ||
           refuse(a, JSONRPC_INVALID_PARAMS,
                  "Invalid params: _meta: progressToken must be a string or an integer");
}

static bool check_method_allows_batch(struct arrival *a, const struct jsonrpc_message *m)
{
    return a->batch == NULL || (a->method->is_legacy && !a->method->is_alone) ||
           refuse(a, JSONRPC_INVALID_REQUEST, "Invalid Request: %s must not be in a batch", a->method->name);
}

static bool check_batch_has_room(struct arrival *a, const struct jsonrpc_message *m)
{
    return a->batch == NULL || !batch_is_full(a->batch) ||
           refuse(a, JSONRPC_INTERNAL_ERROR, "This was not carried out: %s", BATCH_IS_FULL);
}

static bool check_room(struct arrival *a, const struct jsonrpc_message *m)
{
    return requests_have_room(a->client, a->len) ||
           refuse(a, JSONRPC_INTERNAL_ERROR,
                  "Too many requests are in progress: wait for answers before sending more");
}

enum era { LEGACY = 1, MODERN = 2, BOTH = LEGACY | MODERN };

/* In this order: each check may rely on the results of those before it. */
static const struct {
    enum era era;
    bool (*check)(struct arrival *a, const struct jsonrpc_message *m);
} checks[] = {
    {BOTH, check_id_is_free},       {MODERN, check_version_header},
    {MODERN, check_version},        {MODERN, check_capabilities},
    {MODERN, check_log_level},      {MODERN, check_revision_has_batches},
    {MODERN, check_other_headers},  {LEGACY, check_handshake},
    {BOTH, check_method},           {BOTH, check_meta},
    {BOTH, check_progress_token},   {BOTH, check_method_allows_batch},
    {LEGACY, check_batch_has_room}, {BOTH, check_room},
};

/* A request that has its own envelope is of the modern era; each request is judged separately. */
static enum era era_of(const struct arrival *a, const struct jsonrpc_message *m)
{
    bool has_envelope = json_object_get(meta_of(m), META_VERSION) != NULL;
    return has_envelope || request_headers_are_modern(headers_of(a)) ? MODERN : LEGACY;
}

bool admission_check(struct arrival *a, const struct jsonrpc_message *m)
{
    enum era era = era_of(a, m);
    a->method = method_find(m->method.bytes, m->method.len);
    a->log_level = SERVER_LOG_NOTHING;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if ((checks[i].era & era) != 0 && !checks[i].check(a, m))
            return false;
    return true;
}
