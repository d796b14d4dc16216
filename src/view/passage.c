/*
 * Responsible for the connection to the server: it is a file descriptor of its own for each message.
 */
#include "view/passage.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "http/exchange.h"
#include "proc/loop_handle.h"

/* The server is not read while the page has this much left to read. */
#define MOST_UNREAD ((size_t)1 << 20)
#define LONGEST_HEAD ((size_t)16 << 10)

struct passage {
    struct exchange *exchange;
    int socket;
    uv_poll_t *poll;       /* NULL: the server has said all */
    struct strbuf message; /* to the server: the head, then the body */
    struct strbuf body;    /* as the exchange has read and counted it */
    size_t sent;
    struct strbuf head;    /* of the answer, until that is whole */
    struct stream *stream; /* the rest of the answer; NULL: the head is not whole */
};

/* As an answer of MCP, because browsers report every other status to the console. */
#define ENDED                                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"This server has ended, or "   \
    "another process has taken its socket.\"}}"

static void answer_ended(struct exchange *e)
{
    exchange_answer(e, MHD_HTTP_OK, ENDED, strlen(ENDED));
}

size_t passage_head(const char *text, size_t len, unsigned *status, const char **type)
{
    const char *end = memmem(text, len, "\r\n\r\n", 4);
    if (end == NULL || strncmp(text, "HTTP/1.", 7) != 0)
        return 0;
    for (size_t i = 9; i < 12; i++)
        if (i >= len || !isdigit((unsigned char)text[i]))
            return 0;
    *status = (unsigned)strtoul(text + 9, NULL, 10);
    const char *events = strcasestr(text, "\r\nContent-Type: text/event-stream");
    *type = events != NULL && events < end ? "text/event-stream" : "application/json";
    return *status >= 200 && *status < 600 ? (size_t)(end - text) + 4 : 0;
}

static void hang_up(struct passage *p)
{
    loop_handle_free(p->poll);
    p->poll = NULL;
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
}

static void on_server_ended(struct passage *p)
{
    struct stream *stream = p->stream;
    hang_up(p);
    p->stream = NULL;
    if (stream != NULL)
        stream_end(stream);
    else
        answer_ended(p->exchange);
}

static void on_event(uv_poll_t *poll, int status, int events);

static void on_empty(void *arg)
{
    struct passage *p = arg;
    if (p->poll != NULL)
        uv_poll_start(p->poll, UV_READABLE, on_event);
}

static void take_head(struct passage *p, const char *bytes, size_t len)
{
    unsigned status;
    const char *type;
    strbuf_add(&p->head, bytes, len);
    size_t head_len = passage_head(strbuf_string(&p->head), p->head.len, &status, &type);
    if (head_len > 0) {
        p->stream = stream_new(NULL, 0);
        p->stream->on_empty = on_empty;
        p->stream->arg = p;
        exchange_pass(p->exchange, status, type, p->stream);
        stream_pass(p->stream, p->head.bytes + head_len, p->head.len - head_len);
        strbuf_fini(&p->head);
    } else if (p->head.len > LONGEST_HEAD) {
        on_server_ended(p);
    }
}

static void hear(struct passage *p)
{
    char bytes[16384];
    ssize_t len = read(p->socket, bytes, sizeof bytes);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0)
        on_server_ended(p);
    else if (p->stream == NULL)
        take_head(p, bytes, (size_t)len);
    else
        stream_pass(p->stream, bytes, (size_t)len);
    if (p->stream != NULL && stream_unread(p->stream) > MOST_UNREAD)
        uv_poll_stop(p->poll); /* until the page has read it */
}

static void say(struct passage *p)
{
    ssize_t len = send(p->socket, p->message.bytes + p->sent, p->message.len - p->sent, MSG_NOSIGNAL);
    /* A server that refuses a message may have answered and closed before it has read it all. */
    bool is_refused = len < 0 && errno != EAGAIN && errno != EINTR;
    p->sent += len > 0 ? (size_t)len : 0;
    if (p->sent < p->message.len && !is_refused)
        return;
    strbuf_fini(&p->message);
    if (p->body.bytes != NULL && !is_refused) {
        p->message = p->body;
        p->body = (struct strbuf){0};
        p->sent = 0;
        return;
    }
    uv_poll_start(p->poll, UV_READABLE, on_event);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct passage *p = poll->data;
    if (status < 0)
        on_server_ended(p);
    else if (p->message.bytes != NULL)
        say(p);
    else
        hear(p);
}

static bool pass_header(void *arg, const char *name, const char *value)
{
    if (strncasecmp(name, "mcp-", 4) == 0 || strcasecmp(name, "accept") == 0 ||
        strcasecmp(name, "authorization") == 0 || strcasecmp(name, "last-event-id") == 0)
        strbuf_addf(arg, "%s: %s\r\n", name, value);
    return true;
}

struct passage *passage_begin(uv_loop_t *loop, struct exchange *e, int socket)
{
    if (socket < 0) {
        answer_ended(e);
        return NULL;
    }
    struct passage *p = xcalloc(1, sizeof *p);
    p->exchange = e;
    p->socket = socket;
    /* HTTP/1.0: the end of the connection ends the answer, which has no chunks. */
    strbuf_addf(&p->message,
                "POST /mcp HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
                "application/json\r\nContent-Length: %zu\r\n",
                e->body.len);
    exchange_each_header(e, pass_header, &p->message);
    strbuf_adds(&p->message, "\r\n");
    p->body = e->body;
    e->body = (struct strbuf){0};
    p->poll = loop_handle_poll(loop, socket, p);
    uv_poll_start(p->poll, UV_WRITABLE, on_event);
    return p;
}

void passage_end(struct passage *p)
{
    if (p == NULL)
        return;
    hang_up(p);
    if (p->stream != NULL)
        stream_end(p->stream);
    strbuf_fini(&p->message);
    strbuf_fini(&p->body);
    strbuf_fini(&p->head);
    free(p);
}
