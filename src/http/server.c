/*
 * Responsible for the meaning of requests: the connection for a POST, the stream for a GET, the end
 * of a session; and for starting and closing the server.
 */
#include "http/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/regular_file.h"
#include "http/checks.h"
#include "http/daemon.h"
#include "http/exchange.h"
#include "http/header_values.h"
#include "http/http_file.h"
#include "http/http_session.h"
#include "http/limits.h"
#include "http/listener.h"
#include "http/post.h"
#include "mcp/connection.h"
#include "mcp/jsonrpc.h"
#include "proc/loop_handle.h"

#define MOST_LISTENERS 16
#define LARGEST_PEM (1u << 20)

struct http_server {
    struct http_server_options options;
    struct mhd mhd;
    struct principals principals;
    struct check_rules rules;
    struct exchange_events events;
    char *certificate, *key; /* NULL: no TLS */
    struct daemon *daemons[MOST_LISTENERS];
    size_t daemon_count;
    uv_timer_t *tick;      /* sends keep-alives, ends idle sessions */
    uv_timer_t *closing;   /* bounds the time that closing takes */
    uint64_t closes_at_ms; /* the deadline, if it is closing */
    bool is_ended;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static struct connection_options connection_options(struct http_server *s, struct principal *principal)
{
    if (principal->toolbox == NULL)
        principal->toolbox = s->options.toolbox(s->options.arg, principal->name);
    struct connection_options own = s->options.connection;
    own.toolbox = principal->toolbox;
    own.shows_log = principals_are_anybody(&s->principals); /* it names the sessions of all principals */
    own.send = post_on_send;
    own.on_over = post_on_over;
    return own;
}

static struct client *stateless(struct http_server *s, struct principal *principal)
{
    if (principal->stateless == NULL) {
        struct connection_options options = connection_options(s, principal);
        options.is_stateless = true;
        principal->stateless = connection_new(&options);
    }
    return principal->stateless;
}

static struct http_session *session_of(struct exchange *e)
{
    const char *id = exchange_header(e, "Mcp-Session-Id");
    struct http_session *session =
        id == NULL || e->is_modern || e->principal == NULL ? NULL : http_session_find(e->principal, id);
    if (session != NULL)
        session->used_ms = uv_hrtime() / 1000000;
    return session;
}

static void take_post(struct http_server *s, struct exchange *e)
{
    /* Requests of every era need a Lisp soon, so start it now. */
    if (s->options.on_handshake != NULL)
        s->options.on_handshake(s->options.arg);
    if (e->is_modern) {
        post_deliver(e, stateless(s, e->principal), NULL);
        return;
    }
    struct http_session *session = session_of(e);
    if (session != NULL) {
        post_deliver(e, session->connection, session);
        return;
    }
    struct connection_options options = connection_options(s, e->principal);
    session = http_session_new(e->principal, s->options.node, &options);
    if (session == NULL) {
        exchange_refuse(e, MHD_HTTP_INTERNAL_SERVER_ERROR, "the system has no random numbers available");
        return;
    }
    post_deliver(e, session->connection, session);
    if (list_is_empty(&session->node))
        http_session_free(session);
}

static void take_get(struct exchange *e)
{
    struct http_session *session = session_of(e);
    const char *last = exchange_header(e, "Last-Event-ID");
    uint64_t id = 0, after = 0;
    if (session == NULL) {
        exchange_refuse(e, MHD_HTTP_NOT_FOUND, "this session has ended: send initialize to start another");
        return;
    }
    if (last != NULL && !event_id_parse(last, &id, &after)) {
        exchange_refuse(e, MHD_HTTP_BAD_REQUEST, "Last-Event-ID was not issued by this server");
        return;
    }
    bool is_over;
    struct stream *stream = http_session_stream(session, id, &is_over);
    if (stream == NULL) {
        exchange_refuse(e, MHD_HTTP_BAD_REQUEST, "Last-Event-ID belongs to no stream of this session");
        return;
    }
    exchange_stream(e, stream);
    if (last != NULL)
        stream_replay(stream, after);
    /* A client that aborted its call and learns immediately that nothing will follow reconnects without an
     * id, which would displace the stream that it is reading. */
    if (is_over && http_session_is_unanswered(session, id))
        http_session_hold(session, stream);
    else if (is_over)
        stream_end(stream);
    else
        stream_keep_alive(stream);
}

static void take_delete(struct exchange *e)
{
    struct http_session *session = session_of(e);
    if (session != NULL) {
        post_end_all(session, MHD_HTTP_NOT_FOUND, "the session was ended");
        http_session_close_lisp(session);
        http_session_free(session);
        exchange_answer(e, MHD_HTTP_OK, NULL, 0);
    } else {
        exchange_refuse(e, MHD_HTTP_NOT_FOUND, "this session has ended");
    }
}

static void on_headers(void *arg, struct exchange *e)
{
    checks_run(&((struct http_server *)arg)->rules, e);
}

static void on_request(void *arg, struct exchange *e)
{
    struct http_server *s = arg;
    switch (e->method) {
    case EXCHANGE_POST:
        take_post(s, e);
        break;
    case EXCHANGE_GET:
        if (e->file != NULL)
            exchange_answer(e, MHD_HTTP_OK, e->file->bytes, e->file->len);
        else
            take_get(e);
        break;
    case EXCHANGE_DELETE:
        take_delete(e);
        break;
    case EXCHANGE_OPTIONS:
        exchange_answer(e, MHD_HTTP_NO_CONTENT, NULL, 0);
        break;
    case EXCHANGE_OTHER:
        exchange_refuse(e, MHD_HTTP_METHOD_NOT_ALLOWED, "this method is not allowed here");
        break;
    }
}

/* A client of an older revision may have closed only its half, and still wait. */
static void on_gone(void *arg, struct exchange *e)
{
    if (!e->is_modern)
        return;
    post_lost(e);
    exchange_drop(e);
}

static void on_end(void *arg, struct exchange *e);

static void on_tick(uv_timer_t *timer)
{
    struct http_server *s = timer->data;
    list_each(struct exchange, e, &s->events.exchanges, node)
        if (e->stream != NULL)
            stream_keep_alive(e->stream);
    list_each(struct principal, principal, &s->principals.all, node)
        http_session_expire(principal, uv_hrtime() / 1000000);
}

static bool read_pem(const char *path, bool is_secret, char **text, struct err *err)
{
    struct regular_file file;
    bool is_read = regular_file_read(&file, path, LARGEST_PEM, err);
    if (is_read && is_secret && (file.status.st_mode & S_IRWXO) != 0)
        is_read = err_set(err, ERR_INVALID, "%s: every user can access this key; run chmod 600 on it", path);
    if (is_read && file.text.len == 0)
        is_read = err_set(err, ERR_INVALID, "%s is empty", path);
    if (is_read)
        *text = strbuf_steal(&file.text, NULL);
    regular_file_fini(&file);
    return is_read;
}

static bool is_open(const struct http_server *s, const struct daemon *daemon)
{
    return !daemon_listener(daemon)->is_unix &&
           (principals_are_anybody(&s->principals) || principals_trust_this_machine(&s->principals));
}

static bool serve_on(struct http_server *s, struct listener *listener, struct err *err)
{
    const struct daemon_options options = {
        .loop = s->options.loop,
        .mhd = &s->mhd,
        .certificate = s->certificate,
        .key = s->key,
        .serves_page = s->rules.file_count > 0,
        .handle = exchange_handle,
        .on_completed = exchange_completed,
        .arg = &s->events,
    };
    struct daemon *daemon = daemon_new(listener, &options, err);
    if (daemon != NULL)
        s->daemons[s->daemon_count++] = daemon;
    return daemon != NULL;
}

static bool listen_on(struct http_server *s, const char *address, struct err *err)
{
    if (s->daemon_count == MOST_LISTENERS)
        return err_set(err, ERR_INVALID, "at most %d addresses to listen on", MOST_LISTENERS);
    struct listener listener;
    if (!listener_open(&listener, address, err))
        return false;
    if (!listener.is_loopback && principals_are_anybody(&s->principals)) {
        err_set(err, ERR_INVALID,
                "other machines can reach %s and evaluate any code: it needs --token-file, --oauth-issuer or "
                "--trust-header",
                listener.name);
        listener_close(&listener);
        return false;
    }
    if (!serve_on(s, &listener, err))
        return false;
    struct daemon *daemon = s->daemons[s->daemon_count - 1];
    const char *name = daemon_listener(daemon)->name;
    if (is_open(s, daemon))
        log_warning(
            "every user of this machine can evaluate code as you through %s; --http unix:PATH prevents "
            "this, or --token-file FILE without a --trust-from that has this machine",
            name);
    if (daemon_listener(daemon)->is_unix)
        log_info("listening on %s", name);
    else
        log_info("listening on %s://%s/mcp", s->certificate != NULL ? "https" : "http", name);
    return true;
}

const char *http_server_open_address(const struct http_server *s)
{
    for (size_t i = 0; i < s->daemon_count; i++)
        if (is_open(s, s->daemons[i]))
            return daemon_listener(s->daemons[i])->name;
    return NULL;
}

/* A header that nobody may send would lock everybody out. */
static bool trust_has_a_way(const struct http_server *s, struct err *err)
{
    bool has = s->options.principals.trust_header == NULL || s->principals.trusted_count > 0;
    for (size_t i = 0; i < s->daemon_count; i++)
        has = has || daemon_listener(s->daemons[i])->is_unix;
    return has || err_set(err, ERR_INVALID,
                          "--trust-header needs --trust-from ADDRESS, the proxy's, or --http unix:PATH");
}

static bool start(struct http_server *s, struct err *err)
{
    const struct http_server_options *o = &s->options;
    if (!mhd_load(&s->mhd, err))
        return false;
    if ((o->tls_certificate_file == NULL) != (o->tls_key_file == NULL))
        return err_set(err, ERR_INVALID, "--tls-cert and --tls-key go together");
    if (o->tls_certificate_file != NULL && s->mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return err_set(err, ERR_START, "this libmicrohttpd was built without TLS");
    if (o->tls_certificate_file != NULL && (!read_pem(o->tls_certificate_file, false, &s->certificate, err) ||
                                            !read_pem(o->tls_key_file, true, &s->key, err)))
        return false;
    if (!principals_init(&s->principals, &o->principals, err))
        return false;
    for (size_t i = 0; o->addresses[i] != NULL; i++)
        if (!listen_on(s, o->addresses[i], err))
            return false;
    return (o->listener == NULL || serve_on(s, o->listener, err)) && trust_has_a_way(s, err);
}

static void free_all(struct http_server *s)
{
    for (size_t i = 0; i < s->daemon_count; i++)
        daemon_free(s->daemons[i]);
    list_each(struct principal, principal, &s->principals.all, node) {
        while (!list_is_empty(&principal->sessions))
            http_session_free(list_entry(principal->sessions.next, struct http_session, node));
        connection_free(principal->stateless);
    }
    principals_fini(&s->principals);
    loop_handle_free(s->tick);
    loop_handle_free(s->closing);
    mhd_unload(&s->mhd);
    free(s->certificate);
    if (s->key != NULL)
        explicit_bzero(s->key, strlen(s->key));
    free(s->key);
    free(s);
}

struct http_server *http_server_new(const struct http_server_options *options, struct err *err)
{
    static const char cors_headers[] = "Authorization, Content-Type, Accept, Mcp-Session-Id, Last-Event-ID, "
                                       "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Param-Session";
    struct http_server *s = xcalloc(1, sizeof *s);
    s->options = *options;
    list_init(&s->principals.all);
    s->rules = options->rules;
    s->rules.principals = &s->principals;
    s->events = (struct exchange_events){
        .on_headers = on_headers,
        .on_request = on_request,
        .on_gone = on_gone,
        .on_end = on_end,
        .cors_headers = cors_headers,
        .arg = s,
    };
    list_init(&s->events.exchanges);
    s->tick = loop_handle_timer(options->loop, s);
    s->closing = loop_handle_timer(options->loop, s);
    if (!start(s, err)) {
        free_all(s);
        return NULL;
    }
    uv_timer_start(s->tick, on_tick, HTTP_KEEP_ALIVE_MS, HTTP_KEEP_ALIVE_MS);
    return s;
}

void http_server_reload(struct http_server *s)
{
    if (s == NULL)
        return;
    principals_reload(&s->principals);
    list_each(struct exchange, e, &s->events.exchanges, node) {
        struct refusal refusal;
        /* Its token may have been withdrawn although the principal has another. An access token that has
         * expired since the request came was good then. */
        if (e->principal == NULL || checks_principal(&s->rules, e, &refusal) == e->principal)
            continue;
        post_lost(e);
        exchange_drop(e);
    }
}

static void finish(struct http_server *s)
{
    s->is_ended = true;
    uv_timer_stop(s->closing);
    /* The library cannot stop while a connection is suspended. */
    list_each(struct exchange, e, &s->events.exchanges, node)
        exchange_drop(e);
    for (size_t i = 0; i < s->daemon_count; i++)
        daemon_run(s->daemons[i]);
    void (*done)(void *arg) = s->on_closed;
    void *arg = s->on_closed_arg;
    free_all(s);
    done(arg);
}

static void on_closing(uv_timer_t *timer)
{
    struct http_server *s = timer->data;
    uint64_t now_ms = uv_hrtime() / 1000000;
    if (list_is_empty(&s->events.exchanges) || now_ms >= s->closes_at_ms)
        finish(s);
    else
        uv_timer_start(s->closing, on_closing, s->closes_at_ms - now_ms, 0);
}

static void on_end(void *arg, struct exchange *e)
{
    struct http_server *s = arg;
    post_lost(e);
    session_of(e);
    if (s->rules.is_ending && !s->is_ended)
        uv_timer_start(s->closing, on_closing, 0, 0);
}

static void end_exchange(struct exchange *e)
{
    bool is_waiting = e->state == EXCHANGE_WAITING;
    post_lost(e);
    if (is_waiting)
        exchange_refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is shutting down");
}

void http_server_close(struct http_server *s, void (*done)(void *arg), void *arg)
{
    if (s == NULL) {
        done(arg);
        return;
    }
    s->on_closed = done;
    s->on_closed_arg = arg;
    if (s->rules.is_ending) {
        s->closes_at_ms = 0;
        if (!s->is_ended)
            uv_timer_start(s->closing, on_closing, 0, 0);
        return;
    }
    s->rules.is_ending = true;
    s->closes_at_ms = uv_hrtime() / 1000000 + HTTP_CLOSE_MS;
    for (size_t i = 0; i < s->daemon_count; i++)
        daemon_quiesce(s->daemons[i]);
    list_each(struct principal, principal, &s->principals.all, node) {
        if (principal->stateless != NULL)
            connection_end(principal->stateless);
        while (!list_is_empty(&principal->sessions)) {
            struct http_session *session = list_entry(principal->sessions.next, struct http_session, node);
            post_end_all(session, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is shutting down");
            http_session_free(session);
        }
    }
    list_each(struct exchange, e, &s->events.exchanges, node)
        end_exchange(e);
    uv_timer_start(s->closing, on_closing, 0, 0);
}
