/*
 * Responsible for the response to a message: its status, and whether it is a stream.
 */
#include "http/post.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "http/exchange.h"
#include "http/http_session.h"
#include "http/stream.h"
#include "mcp/client.h"
#include "mcp/connection.h"
#include "mcp/jsonrpc.h"
#include "mcp/revisions.h"

struct post {
    struct list node; /* in its session's */
    struct transport_origin origin;
    struct client *connection;
    struct http_session *session; /* NULL: 2026-07-28 */
    struct exchange *exchange;    /* NULL: the client has gone, or reads the stream */
    struct stream *stream;        /* NULL: none yet */
    bool is_delivering, has_answer, is_newcomer;
};

static struct post *post_of(struct transport_origin *origin)
{
    return list_entry(origin, struct post, origin);
}

static void post_free(struct post *p)
{
    if (p->exchange != NULL)
        p->exchange->post = NULL;
    list_remove(&p->node);
    free(p);
}

/* Source      MCP 2026-07-28 and 2025-11-25, transports; where they say nothing, the behaviour of the
 *             official servers */
static unsigned status_of(const struct post *p, const struct transport_message *answer)
{
    if (answer->kind == TRANSPORT_RESULT)
        return MHD_HTTP_OK;
    switch (answer->code) {
    case JSONRPC_PARSE_ERROR:
    case JSONRPC_INVALID_REQUEST:
    case JSONRPC_HEADER_MISMATCH:
    case JSONRPC_MISSING_CAPABILITY:
    case JSONRPC_UNSUPPORTED_VERSION:
        return MHD_HTTP_BAD_REQUEST;
    case JSONRPC_METHOD_NOT_FOUND:
        if (p->session == NULL)
            return MHD_HTTP_NOT_FOUND;
        break;
    case JSONRPC_INVALID_PARAMS:
        if (p->session == NULL && answer->kind == TRANSPORT_REFUSAL)
            return MHD_HTTP_BAD_REQUEST;
        break;
    default:
        break;
    }
    return p->is_newcomer ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK;
}

static void begin_stream(struct post *p)
{
    struct exchange *e = p->exchange;
    p->stream = p->session == NULL ? stream_new(NULL, 0) : http_session_open_stream(p->session);
    exchange_stream(e, p->stream);
    if (p->session == NULL)
        return;
    const struct revision *revision = p->connection->negotiated;
    if (revision != NULL && revision->has_priming_event)
        stream_prime(p->stream);
    /* From here on, only the stream is needed. */
    p->exchange = NULL;
    e->post = NULL;
}

/* If the handshake is complete, clients name the session by its id from now on. False: ${p} was refused. */
static bool publish(struct post *p)
{
    struct exchange *e = p->exchange;
    if (!p->is_newcomer)
        return true;
    if (p->connection->negotiated == NULL)
        return exchange_header(e, "Mcp-Session-Id") == NULL ||
               exchange_refuse(e, MHD_HTTP_NOT_FOUND,
                               "this session has ended: send initialize to start another");
    if (!http_session_publish(p->session, uv_hrtime() / 1000000))
        return exchange_refuse_with(e, &(struct http_reply){.status = MHD_HTTP_SERVICE_UNAVAILABLE,
                                                            .code = JSONRPC_INTERNAL_ERROR,
                                                            .message = "Too many sessions: DELETE some",
                                                            .header = "Retry-After",
                                                            .value = "60"});
    memcpy(e->session_id, p->session->id, sizeof p->session->id);
    return true;
}

static void answer(struct post *p, const struct transport_message *message)
{
    unsigned status = status_of(p, message);
    if (status == MHD_HTTP_OK && !p->exchange->takes_json) {
        begin_stream(p);
        stream_send(p->stream, message->bytes, message->len);
        return;
    }
    /* A header that ends the headers early (": x") leaves the rest of them in the body, which is then not
     * JSON. */
    p->exchange->must_close = p->exchange->must_close || message->code == JSONRPC_PARSE_ERROR;
    exchange_answer(p->exchange, status, message->bytes, message->len);
}

void post_on_send(void *arg, const struct transport_message *message)
{
    struct http_session *session = arg;
    if (message->origin == NULL) {
        if (session != NULL)
            stream_send(session->unasked, message->bytes, message->len);
        return;
    }
    struct post *p = post_of(message->origin);
    bool is_answer = message->kind != TRANSPORT_NOTIFICATION;
    /* Before the handshake there is no session that could own a stream. */
    if (p->stream == NULL && p->exchange != NULL && p->exchange->takes_events && !is_answer &&
        !p->is_newcomer)
        begin_stream(p);
    if (p->stream != NULL)
        stream_send(p->stream, message->bytes, message->len);
    else if (is_answer && p->exchange != NULL && publish(p))
        answer(p, message);
    p->has_answer = p->has_answer || is_answer;
}

void post_on_over(void *arg, struct transport_origin *origin)
{
    struct post *p = post_of(origin);
    if (p->stream == NULL && !p->has_answer && p->exchange != NULL && publish(p)) {
        /* Another message cancelled it: no answer will follow, and 202 is the response for that. */
        if (!p->is_delivering && p->exchange->takes_events)
            begin_stream(p);
        else
            exchange_answer(p->exchange, MHD_HTTP_ACCEPTED, NULL, 0);
    }
    if (p->stream != NULL && p->session != NULL && !p->has_answer)
        http_session_unanswered(p->session, p->stream->id);
    if (p->stream != NULL)
        stream_end(p->stream);
    /* post_deliver() frees a message that is answered at once. */
    if (p->is_delivering)
        p->connection = NULL;
    else
        post_free(p);
}

void post_deliver(struct exchange *e, struct client *connection, struct http_session *session)
{
    struct post *p = xcalloc(1, sizeof *p);
    const struct transport_headers headers = {
        .version = exchange_header(e, "MCP-Protocol-Version"),
        .method = exchange_header(e, "Mcp-Method"),
        .name = exchange_header(e, "Mcp-Name"),
        .session = exchange_header(e, "Mcp-Param-Session"),
        .is_ambiguous = exchange_header_count(e, "MCP-Protocol-Version") > 1 ||
                        exchange_header_count(e, "Mcp-Method") > 1 ||
                        exchange_header_count(e, "Mcp-Name") > 1 ||
                        exchange_header_count(e, "Mcp-Param-Session") > 1,
        .wants_answer_only = !e->takes_events,
    };
    p->connection = connection;
    p->session = session;
    p->is_newcomer = session != NULL && list_is_empty(&session->node);
    p->exchange = e;
    p->origin.headers = &headers;
    list_init(&p->node);
    if (session != NULL)
        list_append(&session->posts, &p->node);
    e->post = p;
    p->is_delivering = true;
    connection_message(connection, &p->origin, e->body.len > 0 ? e->body.bytes : (char[]){0}, e->body.len);
    p->is_delivering = false;
    p->origin.headers = NULL;
    if (p->connection == NULL)
        post_free(p);
}

static void abandon(struct post *p)
{
    requests_abandon(p->connection, &p->origin);
    if (p->stream != NULL)
        stream_end(p->stream);
    post_free(p);
}

void post_lost(struct exchange *e)
{
    struct post *p = e->post;
    if (p == NULL)
        return;
    if (p->session != NULL) {
        p->exchange = NULL;
        e->post = NULL;
        return;
    }
    CHECK(!p->is_delivering);
    abandon(p);
}

void post_end_all(struct http_session *session, unsigned status, const char *message)
{
    list_each(struct post, p, &session->posts, node) {
        if (p->exchange != NULL)
            exchange_refuse(p->exchange, status, message);
        abandon(p);
    }
}
