/*
 * Responsible for the checks: one function each, in a list. docs/http.md describes them.
 */
#include "http/checks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http/access_tokens.h"
#include "http/daemon.h"
#include "http/exchange.h"
#include "http/header_values.h"
#include "http/http_file.h"
#include "http/http_session.h"
#include "http/link.h"
#include "http/slots.h"
#include "http/principals.h"
#include "mcp/jsonrpc.h"
#include "mcp/request_headers.h"
#include "mcp/revisions.h"
#include "mcp/transport.h"

#define PATH "/mcp"

static bool refuse_with(struct exchange *e, unsigned status, const char *message, const char *header,
                        const char *value)
{
    return exchange_refuse_with(e, &(struct http_reply){.status = status,
                                                        .code = JSONRPC_INVALID_REQUEST,
                                                        .message = message,
                                                        .header = header,
                                                        .value = value});
}

static bool is_listed(const char *const *list, const char *value)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcasecmp(*list, value) == 0)
            return true;
    return false;
}

static bool is_sound(void *arg, const char *name, const char *value)
{
    return header_name_is_valid(name) && header_value_is_valid(value);
}

/* A proxy may parse a malformed header differently from the library. It may then see the end of the request
 * elsewhere: what the server took for the next request would be part of this one's body. Or the server sees a
 * header that the proxy would have removed. */
static bool check_syntax(const struct check_rules *rules, struct exchange *e)
{
    if (exchange_each_header(e, is_sound, NULL) && exchange_head_is_plain(e))
        return true;
    e->must_close = true;
    return exchange_refuse(e, 400, "a header is malformed");
}

/* The server and a proxy in front of it must agree on where the body ends. */
static bool check_framing(const struct check_rules *rules, struct exchange *e)
{
    const char *coding = exchange_header(e, "Transfer-Encoding");
    /* Close in any case: without a length, a body that the server cannot see may follow, and only a POST has
     * a body that a proxy sees, too. Chunks end where the library says, which is lenient: it takes "chunked"
     * for what follows a NUL, and a bare LF for CR LF. */
    bool has_length = exchange_header(e, "Content-Length") != NULL;
    e->must_close = coding != NULL || has_length != (e->method == EXCHANGE_POST);
    size_t lengths = exchange_header_count(e, "Content-Length");
    if (exchange_header_count(e, "Transfer-Encoding") + lengths > 1) {
        e->must_close = true;
        return exchange_refuse(e, 400, "send either Content-Length or Transfer-Encoding, and send it once");
    }
    if (coding != NULL && !media_type_is(coding, "chunked"))
        return exchange_refuse(e, 501, "the only supported Transfer-Encoding is chunked");
    return true;
}

static bool check_singular(const struct check_rules *rules, struct exchange *e)
{
    static const char *const once[] = {"Host",         "Origin",         "Authorization",
                                       "Content-Type", "Mcp-Session-Id", "Last-Event-ID"};
    const char *trusted = rules->principals->options.trust_header;
    bool is_repeated = trusted != NULL && exchange_header_count(e, trusted) > 1;
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
        is_repeated = is_repeated || exchange_header_count(e, once[i]) > 1;
    return !is_repeated || exchange_refuse(e, 400, "a header was repeated that may be sent only once");
}

/* DNS rebinding: a page whose name resolves to this machine still sends its own name as Host. */
static bool check_host(const struct check_rules *rules, struct exchange *e)
{
    const char *value = exchange_header(e, "Host");
    const struct listener *listener = daemon_listener(e->daemon);
    if (listener->is_unix)
        return true;
    struct header_part host, port;
    if (value != NULL && host_split(value, &host, &port)) {
        if (host_is_loopback(host) || (!listener->is_loopback && host_is_address(host)) ||
            is_listed(rules->allowed_hosts, value))
            return true;
        char name[256];
        if (host.len < sizeof name) {
            memcpy(name, host.at, host.len);
            name[host.len] = '\0';
            if (is_listed(rules->allowed_hosts, name))
                return true;
        }
    }
    return exchange_refuse(e, 403, "this Host is not allowed; --allow-host adds one");
}

static bool check_origin(const struct check_rules *rules, struct exchange *e)
{
    const char *origin = exchange_header(e, "Origin");
    if (origin == NULL)
        return true;
    if (is_listed(rules->cors_origins, origin))
        e->cors_origin = origin;
    if (e->cors_origin != NULL || is_listed(rules->allowed_origins, origin) ||
        (daemon_listener(e->daemon)->is_loopback && origin_is_loopback(origin)))
        return true;
    return exchange_refuse(e, 403, "this Origin is not allowed; --allow-origin adds one");
}

/* Where clients learn which issuer has tokens for this server, so before they have one. */
static bool check_metadata(const struct check_rules *rules, struct exchange *e)
{
    const struct access_tokens *tokens = rules->principals->access_tokens;
    const char *text = tokens == NULL ? NULL : access_tokens_metadata(tokens, e->path);
    if (text == NULL)
        return true;
    if (e->method == EXCHANGE_OPTIONS && e->cors_origin != NULL)
        exchange_answer(e, 204, NULL, 0);
    else if (e->method == EXCHANGE_GET)
        exchange_answer(e, 200, text, strlen(text));
    else
        refuse_with(e, 405, "only GET is allowed here", "Allow", "GET");
    return false;
}

static bool check_path(const struct check_rules *rules, struct exchange *e)
{
    if (e->method == EXCHANGE_GET)
        e->file = http_file_find(rules->files, rules->file_count, e->path);
    return e->file != NULL || strcmp(e->path, PATH) == 0 ||
           exchange_refuse(e, 404, "not found; the MCP endpoint is " PATH);
}

static bool check_method(const struct check_rules *rules, struct exchange *e)
{
    const struct transport_headers headers = {.version = exchange_header(e, "MCP-Protocol-Version")};
    e->is_modern = e->file == NULL && request_headers_are_modern(&headers);
    if (e->method == EXCHANGE_OPTIONS && e->cors_origin != NULL)
        return true;
    if (e->method == EXCHANGE_POST ||
        (!e->is_modern && (e->method == EXCHANGE_GET || e->method == EXCHANGE_DELETE)))
        return true;
    return refuse_with(e, 405, "this method is not allowed here", "Allow",
                       e->is_modern ? "POST" : "POST, GET, DELETE");
}

static bool check_authorization(const struct check_rules *rules, struct exchange *e)
{
    struct refusal refusal;
    if (e->method == EXCHANGE_OPTIONS || e->file != NULL)
        return true;
    e->principal = checks_principal(rules, e, &refusal);
    return e->principal != NULL ||
           refuse_with(e, refusal.status, refusal.message,
                       refusal.challenge != NULL ? "WWW-Authenticate" : NULL, refusal.challenge);
}

static bool check_admission(const struct check_rules *rules, struct exchange *e)
{
    return rules->admit == NULL || rules->admit(rules->arg, e);
}

static bool check_load(const struct check_rules *rules, struct exchange *e)
{
    if (rules->is_ending)
        return refuse_with(e, 503, "the server is shutting down", "Retry-After", "5");
    if (e->principal == NULL ||
        slot_admit(link_slot(e->link), &e->principal->connections, e->principal->name[0] != '\0'))
        return true;
    e->must_close = true;
    return refuse_with(e, 503, "too many connections: try again later", "Retry-After", "5");
}

static bool check_content_type(const struct check_rules *rules, struct exchange *e)
{
    const char *type = exchange_header(e, "Content-Type");
    if (e->method != EXCHANGE_POST || (type != NULL && media_type_is(type, "application/json")))
        return true;
    return exchange_refuse(e, 415, "Content-Type must be application/json");
}

static bool check_accept(const struct check_rules *rules, struct exchange *e)
{
    const char *accept = exchange_header(e, "Accept");
    e->takes_json = accept == NULL || accept_admits(accept, "application/json");
    e->takes_events = accept == NULL || accept_admits(accept, "text/event-stream");
    if (e->method == EXCHANGE_GET && e->file == NULL && !(accept != NULL && e->takes_events))
        return exchange_refuse(e, 406, "GET needs Accept: text/event-stream");
    if (e->method == EXCHANGE_POST && !e->takes_json && !e->takes_events)
        return exchange_refuse(e, 406, "Accept must admit application/json or text/event-stream");
    return true;
}

static bool check_length(const struct check_rules *rules, struct exchange *e)
{
    const char *length = exchange_header(e, "Content-Length");
    if (e->method == EXCHANGE_POST && length == NULL && exchange_header(e, "Transfer-Encoding") == NULL)
        return exchange_refuse(e, 411, "Content-Length or Transfer-Encoding is missing");
    if (length == NULL)
        return true;
    length += strspn(length, "0");
    if (strlen(length) > 9 || strtoul(length, NULL, 10) > TRANSPORT_MAX_MESSAGE)
        return exchange_refuse(e, 413, TRANSPORT_TOO_LONG);
    return true;
}

static bool check_version(const struct check_rules *rules, struct exchange *e)
{
    /* With two values, clients and proxies could disagree on which one counts. For 2026-07-28 the check waits
     * for the body, so that the answer carries the request's id. */
    if (!e->is_modern && exchange_header_count(e, "MCP-Protocol-Version") > 1)
        return exchange_refuse(e, 400, "MCP-Protocol-Version must not be repeated");
    return true;
}

static bool check_session(const struct check_rules *rules, struct exchange *e)
{
    const char *id = exchange_header(e, "Mcp-Session-Id");
    if (e->is_modern || e->method == EXCHANGE_OPTIONS || e->file != NULL)
        return true;
    if (e->method == EXCHANGE_POST) /* it may be initialize, with any id: post.c */
        return true;
    if (id == NULL)
        return exchange_refuse(e, 400, "Mcp-Session-Id is missing");
    return http_session_find(e->principal, id) != NULL ||
           exchange_refuse(e, 404, "there is no such session: send initialize to start another");
}

static const struct {
    bool (*check)(const struct check_rules *rules, struct exchange *e);
    bool is_of_mcp; /* otherwise it holds for every server */
} checks[] = {
    {check_syntax, false}, {check_framing, false},      {check_singular, false}, {check_admission, false},
    {check_host, true},    {check_origin, true},        {check_metadata, true},  {check_path, true},
    {check_method, true},  {check_authorization, true}, {check_load, false},     {check_content_type, false},
    {check_accept, true},  {check_length, false},       {check_version, true},   {check_session, true},
};

struct principal *checks_principal(const struct check_rules *rules, struct exchange *e,
                                   struct refusal *refusal)
{
    const char *trusted = rules->principals->options.trust_header;
    const union MHD_ConnectionInfo *client =
        daemon_mhd(e->daemon)->get_connection_info(e->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct credentials credentials = {
        .authorization = exchange_header(e, "Authorization"),
        .user = trusted != NULL ? exchange_header(e, trusted) : NULL,
        .from = daemon_listener(e->daemon)->is_unix ? NULL : client->client_addr,
        .at = time(NULL) - (time_t)(uv_hrtime() / 1000000 - e->began_ms) / 1000,
    };
    return principals_find(rules->principals, &credentials, refusal);
}

void checks_run(const struct check_rules *rules, struct exchange *e)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (!(checks[i].is_of_mcp && rules->admit != NULL) && !checks[i].check(rules, e))
            return;
}
