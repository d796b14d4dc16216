/*
 * Responsible for one connection: it admits the request, answers it, or passes it on and the answer back as
 * it comes. Each connection is closed after its answer.
 */
#include "view/visitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "http/header_values.h"
#include "proc/loop_handle.h"
#include "view/page_files.h"
#include "view/read_only.h"
#include "view/request_head.h"
#include "view/servers.h"

#define MOST_VISITORS 512
#define MOST_UNSENT ((size_t)1 << 20)
#define HEAD_MS 10000
#define BODY_MS 30000
#define CLOSING_MS 5000 /* for the client to read the answer */

struct visitor {
    struct list node;
    struct visitors *all;
    uv_tcp_t client;
    uv_pipe_t server; /* the one to which its message is passed on */
    uv_connect_t connecting;
    uv_shutdown_t ending;
    uv_timer_t *deadline;
    struct strbuf in;
    char id[48]; /* of the server that the message is for */
    struct request_head head;
    unsigned open_handles;
    size_t unsent; /* bytes to the client */
    bool has_head, is_answered, is_tab, has_server, is_server_heard, is_server_done, is_closing;
    char buffer[16384];
};

/* A piece of output on its way; it holds its bytes. */
struct piece {
    uv_write_t request;
    size_t len;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    struct visitor *v = handle->data;
    if (--v->open_handles > 0)
        return;
    strbuf_fini(&v->in);
    request_head_fini(&v->head);
    free(v);
}

static void close_visitor(struct visitor *v)
{
    struct visitors *all = v->all;
    bool was_tab = v->is_tab;
    if (v->is_closing)
        return;
    v->is_closing = true;
    v->is_tab = false;
    list_remove(&v->node);
    all->count--;
    loop_handle_free(v->deadline);
    uv_close((uv_handle_t *)&v->client, on_closed);
    if (v->has_server)
        uv_close((uv_handle_t *)&v->server, on_closed);
    if (was_tab && --all->tabs == 0)
        all->on_tabs(all->arg);
}

static void on_deadline(uv_timer_t *timer)
{
    close_visitor(timer->data);
}

static void on_shut_down(uv_shutdown_t *request, int status)
{
}

/* Everything is written: the client reads it and closes. Closing first could discard what it has not read. */
static void finish(struct visitor *v)
{
    if (v->is_closing || v->unsent > 0)
        return;
    uv_timer_start(v->deadline, on_deadline, CLOSING_MS, 0);
    if (uv_shutdown(&v->ending, (uv_stream_t *)&v->client, on_shut_down) != 0)
        close_visitor(v);
}

static void on_server_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buffer);
static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer);

static void on_written(uv_write_t *request, int status)
{
    struct visitor *v = request->handle->data;
    struct piece *piece = (struct piece *)(void *)request;
    bool is_to_client = request->handle == (uv_stream_t *)&v->client;
    v->unsent -= is_to_client ? piece->len : 0;
    free(piece);
    if (v->is_closing || !is_to_client)
        return;
    if (status < 0)
        close_visitor(v);
    else if (v->is_answered)
        finish(v);
    else if (v->has_server && v->unsent == 0 && !v->is_server_done)
        uv_read_start((uv_stream_t *)&v->server, give_buffer, on_server_read);
}

static void send_to(struct visitor *v, uv_stream_t *to, const char *bytes, size_t len)
{
    if (v->is_closing || len == 0)
        return;
    struct piece *piece = xmalloc(sizeof *piece + len);
    piece->len = len;
    memcpy(piece->bytes, bytes, len);
    uv_buf_t buffer = uv_buf_init(piece->bytes, (unsigned)len);
    v->unsent += to == (uv_stream_t *)&v->client ? len : 0;
    if (uv_write(&piece->request, to, &buffer, 1, on_written) != 0) {
        v->unsent -= to == (uv_stream_t *)&v->client ? len : 0;
        free(piece);
        close_visitor(v);
    }
}

static void send_head(struct visitor *v, const char *status, const char *type, const char *more)
{
    struct strbuf head;
    strbuf_init(&head, 0);
    strbuf_addf(&head,
                "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: %s\r\n"
                "Content-Security-Policy: " HTTP_FILE_POLICY "\r\nX-Content-Type-Options: nosniff\r\n"
                "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                "Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\n%s\r\n",
                status, type, more);
    send_to(v, (uv_stream_t *)&v->client, head.bytes, head.len);
    strbuf_fini(&head);
}

static void answer(struct visitor *v, const char *status, const char *type, const char *bytes, size_t len)
{
    char more[60];
    snprintf(more, sizeof more, "Content-Length: %zu\r\n", len);
    v->is_answered = true;
    send_head(v, status, type, more);
    send_to(v, (uv_stream_t *)&v->client, bytes, len);
}

static void refuse(struct visitor *v, const char *status, const char *message)
{
    answer(v, status, "text/plain; charset=utf-8", message, strlen(message));
}

static void tell(struct visitor *v)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    strbuf_adds(&out, "data: {\"servers\":");
    servers_write(v->all->servers, &out);
    strbuf_addf(&out, ",\"read-only\":%s}\n\n", v->all->is_read_only ? "true" : "false");
    if (v->unsent > MOST_UNSENT)
        close_visitor(v); /* it does not read, and connects again if it is still there */
    else
        send_to(v, (uv_stream_t *)&v->client, out.bytes, out.len);
    strbuf_fini(&out);
}

static void take_tab(struct visitor *v)
{
    uv_timer_stop(v->deadline);
    v->is_tab = true;
    send_head(v, "200 OK", "text/event-stream", "");
    tell(v);
    if (v->is_tab && v->all->tabs++ == 0)
        v->all->on_tabs(v->all->arg);
}

static void take_file(struct visitor *v, const char *name)
{
    if (*name == '\0')
        name = "index.html";
    for (size_t i = 0; i < page_file_count; i++) {
        if (strcmp(page_files[i].name, name) == 0) {
            answer(v, "200 OK", page_files[i].type, page_files[i].bytes, page_files[i].len);
            return;
        }
    }
    refuse(v, "404 Not Found", "There is nothing at this address.\n");
}

/* As an answer of MCP, because browsers report every other status to the console. */
#define ENDED                                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"This server has ended.\"}}"

static void answer_ended(struct visitor *v)
{
    answer(v, "200 OK", "application/json", ENDED, strlen(ENDED));
}

static void on_server_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buffer)
{
    struct visitor *v = stream->data;
    if (len > 0)
        send_to(v, (uv_stream_t *)&v->client, buffer->base, (size_t)len);
    v->is_server_heard = v->is_server_heard || len > 0;
    if (len < 0 && !v->is_server_heard) {
        v->is_server_done = true;
        answer_ended(v);
    } else if (len < 0) {
        uv_read_stop(stream);
        v->is_answered = v->is_server_done = true;
        finish(v);
    } else if (v->unsent > MOST_UNSENT) {
        uv_read_stop(stream); /* until the client has read it */
    }
}

static void on_connected(uv_connect_t *request, int status)
{
    struct visitor *v = request->handle->data;
    struct strbuf message;
    if (v->is_closing)
        return;
    if (status < 0) {
        v->is_server_done = true;
        answer_ended(v);
        return;
    }
    strbuf_init(&message, 0);
    /* HTTP/1.0: the end of the connection ends a stream, so one that is cut is no broken answer. */
    strbuf_addf(&message,
                "POST /mcp HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
                "application/json\r\nContent-Length: %zu\r\n%s\r\n",
                v->head.body_len, strbuf_string(&v->head.passed_on));
    strbuf_add(&message, v->in.bytes + v->head.len, v->head.body_len);
    send_to(v, (uv_stream_t *)&v->server, message.bytes, message.len);
    strbuf_fini(&message);
    strbuf_fini(&v->in);
    if (!v->is_closing)
        uv_read_start((uv_stream_t *)&v->server, give_buffer, on_server_read);
}

static void pass_on(struct visitor *v)
{
    if (v->all->is_read_only && !read_only_allows(v->in.bytes + v->head.len, v->head.body_len)) {
        refuse(v, "403 Forbidden", "The view was opened with --read-only.\n");
        return;
    }
    const char *socket = servers_socket(v->all->servers, v->id, strlen(v->id));
    if (socket == NULL) {
        answer_ended(v);
        return;
    }
    uv_timer_stop(v->deadline);
    uv_pipe_init(v->all->loop, &v->server, 0);
    v->server.data = v;
    v->has_server = true;
    v->open_handles++;
    uv_pipe_connect(&v->connecting, &v->server, socket, on_connected);
}

/* A page elsewhere whose name resolves to this machine sends its own name. */
static bool is_own_host(const struct visitor *v)
{
    struct header_part host, port;
    char origin[300];
    if (!host_split(v->head.host, &host, &port) || !host_is_loopback(host) || !part_is(port, v->all->port))
        return false;
    snprintf(origin, sizeof origin, "http://%.280s", v->head.host);
    return v->head.origin == NULL || strcasecmp(v->head.origin, origin) == 0;
}

/* The link admits one browser; that browser may use it again. */
static void take_key(struct visitor *v, const char *key, bool is_signed_in)
{
    struct visitors *all = v->all;
    char more[200];
    if (!request_head_is_secret(key, strlen(key), all->key) || (all->is_key_used && !is_signed_in)) {
        refuse(v, "403 Forbidden",
               "This link is not valid, or another browser has used it. cl-mcp-server view prints a new "
               "one.\n");
        return;
    }
    all->is_key_used = true;
    snprintf(more, sizeof more,
             "Location: /\r\nSet-Cookie: %s=%s; HttpOnly; SameSite=Strict; Path=/\r\nContent-Length: 0\r\n",
             all->cookie_name, all->cookie);
    v->is_answered = true;
    send_head(v, "303 See Other", "text/plain", more);
}

/* "/servers/ID/mcp" */
static bool take_id(struct visitor *v, const char *target)
{
    if (strncmp(target, "/servers/", 9) != 0)
        return false;
    size_t len = strcspn(target + 9, "/");
    snprintf(v->id, sizeof v->id, "%.*s", (int)(len < sizeof v->id ? len : 0), target + 9);
    return strcmp(target + 9 + len, "/mcp") == 0;
}

/* The head is there. True: a body is to follow. What the head points to moves when that arrives. */
static bool admit(struct visitor *v)
{
    struct request_head *head = &v->head;
    bool is_signed_in = request_head_cookie(head->cookie, v->all->cookie_name, v->all->cookie);
    if (!is_own_host(v))
        refuse(v, "403 Forbidden", "This Host or Origin is not the view's own.\n");
    else if (!head->is_post && strncmp(head->target, "/?key=", 6) == 0)
        take_key(v, head->target + 6, is_signed_in);
    else if (!is_signed_in)
        refuse(v, "403 Forbidden", "Open the link that cl-mcp-server view has printed.\n");
    else if (!head->is_post && strcmp(head->target, "/watch") == 0)
        take_tab(v);
    else if (!head->is_post)
        take_file(v, head->target + 1);
    else if (!take_id(v, head->target))
        refuse(v, "404 Not Found", "There is nothing at this address.\n");
    else if (!head->is_json)
        refuse(v, "415 Unsupported Media Type", "Content-Type must be application/json.\n");
    else if (head->body_len > REQUEST_BODY_MOST)
        refuse(v, "413 Content Too Large", "A message has at most 16 MiB.\n");
    else
        return true;
    return false;
}

static void take(struct visitor *v)
{
    if (!v->has_head) {
        request_head_fini(&v->head);
        enum request_head_state state = request_head_parse(&v->head, v->in.bytes, v->in.len);
        if (state == REQUEST_HEAD_INCOMPLETE)
            return;
        v->has_head = true;
        if (state == REQUEST_HEAD_WRONG) {
            refuse(v, "400 Bad Request", "This is not a request that the view understands.\n");
            return;
        }
        if (!admit(v))
            return;
        uv_timer_start(v->deadline, on_deadline, BODY_MS, 0);
    }
    if (v->in.len >= v->head.len + v->head.body_len)
        pass_on(v);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    struct visitor *v = handle->data;
    *buffer = uv_buf_init(v->buffer, sizeof v->buffer);
}

static void on_client_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buffer)
{
    struct visitor *v = stream->data;
    if (len < 0)
        close_visitor(v);
    if (len <= 0 || v->is_answered || v->is_tab || v->has_server)
        return;
    strbuf_add(&v->in, buffer->base, (size_t)len);
    take(v);
}

static void reject(uv_handle_t *handle)
{
    free(handle);
}

void visitors_init(struct visitors *all)
{
    list_init(&all->list);
    all->count = all->tabs = 0;
}

void visitors_accept(struct visitors *all, uv_stream_t *listening)
{
    if (all->count >= MOST_VISITORS) {
        uv_tcp_t *client = xcalloc(1, sizeof *client);
        uv_tcp_init(all->loop, client);
        uv_accept(listening, (uv_stream_t *)client);
        uv_close((uv_handle_t *)client, reject);
        return;
    }
    struct visitor *v = xcalloc(1, sizeof *v);
    v->all = all;
    v->open_handles = 1;
    v->deadline = loop_handle_timer(all->loop, v);
    strbuf_init(&v->in, 0);
    list_init(&v->node);
    list_append(&all->list, &v->node);
    all->count++;
    uv_tcp_init(all->loop, &v->client);
    v->client.data = v;
    uv_timer_start(v->deadline, on_deadline, HEAD_MS, 0);
    if (uv_accept(listening, (uv_stream_t *)&v->client) != 0 ||
        uv_read_start((uv_stream_t *)&v->client, give_buffer, on_client_read) != 0)
        close_visitor(v);
}

static void for_each_tab(struct visitors *all, void (*function)(struct visitor *v))
{
    list_each(struct visitor, v, &all->list, node)
        if (v->is_tab)
            function(v);
}

void visitors_tell(struct visitors *all)
{
    for_each_tab(all, tell);
}

static void keep_alive(struct visitor *v)
{
    send_to(v, (uv_stream_t *)&v->client, ":\n\n", 3);
}

void visitors_keep_alive(struct visitors *all)
{
    for_each_tab(all, keep_alive);
}

void visitors_end(struct visitors *all)
{
    while (!list_is_empty(&all->list))
        close_visitor(list_entry(all->list.next, struct visitor, node));
}
