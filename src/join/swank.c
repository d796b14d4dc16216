/*
 * Responsible for one connection to a Swank or Slynk server.
 *
 * A name may have several addresses, which are tried in turn. The channel takes over a duplicate of the
 * connected socket: libuv keeps the original.
 */
#include "join/swank.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "join/address.h"
#include "lisp/channel.h"
#include "proc/loop_handle.h"
#include "wire/frame.h"

#define MOST_REQUESTS 1000
#define LINGER_MS 2000

/* libuv uses it until the name is resolved, perhaps after the connection was freed. */
struct resolution {
    uv_getaddrinfo_t request;
    struct swank *connection; /* NULL: it was freed */
};

/* The same for an attempt to connect; its handle is closed with it. */
struct attempt {
    uv_tcp_t tcp;
    uv_connect_t request;
    struct swank *connection;
};

struct request {
    struct list node;
    int64_t id;
    swank_done *done;
    void *arg;
};

struct swank {
    uv_loop_t *loop;
    struct swank_events events;
    char *secret;
    struct resolution *resolution; /* NULL once it has ended, like the next */
    struct attempt *attempt;
    struct addrinfo *addresses; /* of the name */
    const struct addrinfo *next;
    struct channel *channel; /* NULL until connected */
    int fd;                  /* borrowed: of the channel */
    struct list requests;    /* of struct request */
    size_t request_count;
    int64_t last_id;
    bool is_lost;
    uv_timer_t *lingering; /* NULL: its owner has it */
};

static void destroy(struct swank *c);

static void lost(struct swank *c, const struct err *why)
{
    c->is_lost = true;
    if (c->lingering != NULL)
        destroy(c);
    else
        c->events.on_lost(c->events.arg, why);
}

static void send_frame(struct swank *c, struct strbuf *frame, size_t at)
{
    frame_end(&frame_swank, frame, at);
    if (c->channel != NULL && !frame->is_overflown)
        channel_send(c->channel, frame, NULL, 0);
}

bool swank_answer(const struct sexp *message, struct strbuf *out)
{
    static const struct {
        const char *kind, *answer;
        const char *value; /* NULL: the third item of the message */
    } answers[] = {
        {"ping", "emacs-pong", ""},
        {"read-string", "emacs-return-string", " \"\n\""},
        {"y-or-n-p", "emacs-return", " nil"},
        {"read-from-minibuffer", "emacs-return", " nil"},
        {"eval", "emacs-return", " (:abort nil)"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (sexp_is_symbol(sexp_nth(message, 0), answers[i].kind)) {
            sexp_write_open(out);
            sexp_write_symbol(out, answers[i].answer);
            sexp_write_value(out, sexp_nth(message, 1));
            sexp_write_value(out, sexp_nth(message, 2));
            strbuf_adds(out, answers[i].value);
            sexp_write_close(out);
            return true;
        }
    return false;
}

static struct request *find(const struct swank *c, int64_t id)
{
    list_each(struct request, r, &c->requests, node)
        if (r->id == id)
            return r;
    return NULL;
}

static void forget(struct swank *c, struct request *r)
{
    list_remove(&r->node);
    c->request_count--;
    free(r);
}

/* (:return (:ok VALUE) ID) or (:return (:abort "why") ID) */
static void note_return(struct swank *c, const struct sexp *message)
{
    struct request *found = find(c, sexp_integer(sexp_nth(message, 2), 0));
    const struct sexp *result = sexp_nth(message, 1), *value = sexp_nth(result, 1);
    if (found == NULL)
        return;
    struct request r = *found;
    forget(c, found);
    if (sexp_is_symbol(sexp_nth(result, 0), "ok") && value != NULL) {
        r.done(r.arg, value, NULL);
    } else {
        const char *why = sexp_string(value, NULL);
        r.done(r.arg, NULL, why == NULL ? "no reason was given" : why);
    }
}

/* Servers write a message with Nagle's algorithm on: the next one would wait for an acknowledgement, which
 * the kernel delays by 40 ms. It forgets this setting after a while. */
static void acknowledge(const struct swank *c)
{
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

static void on_message(void *arg, struct sexp_document *message)
{
    struct swank *c = arg;
    const struct sexp *root = sexp_root(message);
    struct strbuf answer;
    acknowledge(c);
    strbuf_init(&answer, 0);
    size_t at = frame_begin(&frame_swank, &answer);
    if (sexp_is_symbol(sexp_nth(root, 0), "return"))
        note_return(c, root);
    else if (swank_answer(root, &answer))
        send_frame(c, &answer, at);
    strbuf_fini(&answer);
    sexp_document_free(message);
}

/* Much of what a server says to an editor has symbols and dots in it; none of it is meant for us. */
static void on_unreadable(void *arg, const struct err *why)
{
}

static void on_closed(void *arg, const struct err *why)
{
    struct err reason;
    if (why == NULL)
        err_set(&reason, ERR_GONE, "the server has closed the connection");
    else
        err_set(&reason, why->code, "%s", why->message);
    lost(arg, &reason);
}

static void send_secret(struct swank *c)
{
    struct strbuf frame;
    if (c->secret == NULL)
        return;
    strbuf_init(&frame, 0);
    size_t at = frame_begin(&frame_swank, &frame);
    strbuf_adds(&frame, c->secret);
    send_frame(c, &frame, at);
    strbuf_fini(&frame);
}

static void start(struct swank *c, int fd)
{
    struct channel_events events = {
        .on_message = on_message, .on_closed = on_closed, .on_unreadable = on_unreadable, .arg = c};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->fd = fd;
    c->channel = channel_new(c->loop, fd, &frame_swank, &events);
    send_secret(c);
    c->events.on_connected(c->events.arg);
}

static void on_attempt_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void attempt_next(struct swank *c, int status);

static void on_attempt(uv_connect_t *request, int status)
{
    struct attempt *a = request->data;
    struct swank *c = a->connection;
    uv_os_fd_t fd;
    int own = -1;
    if (c == NULL)
        return; /* swank_free() is closing the handle */
    if (status == 0 && uv_fileno((uv_handle_t *)&a->tcp, &fd) == 0)
        own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    uv_close((uv_handle_t *)&a->tcp, on_attempt_closed);
    c->attempt = NULL;
    if (own >= 0)
        start(c, own);
    else
        attempt_next(c, status == 0 ? UV_EMFILE : status);
}

/* ${status} is that of the attempt before, if there was one. */
static void attempt_next(struct swank *c, int status)
{
    while (c->next != NULL) {
        const struct addrinfo *address = c->next;
        struct attempt *a = xcalloc(1, sizeof *a);
        c->next = address->ai_next;
        a->connection = c;
        a->tcp.data = a->request.data = a;
        status = uv_tcp_init(c->loop, &a->tcp);
        if (status != 0) {
            free(a);
            continue;
        }
        status = uv_tcp_connect(&a->request, &a->tcp, address->ai_addr, on_attempt);
        if (status == 0) {
            c->attempt = a;
            return;
        }
        uv_close((uv_handle_t *)&a->tcp, on_attempt_closed);
    }
    struct err why;
    err_set(&why, ERR_GONE, "%s", uv_strerror(status));
    lost(c, &why);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct resolution *r = request->data;
    struct swank *c = r->connection;
    free(r);
    if (c == NULL) {
        uv_freeaddrinfo(addresses);
        return;
    }
    c->resolution = NULL;
    c->addresses = addresses;
    c->next = addresses;
    attempt_next(c, status == 0 ? UV_EADDRNOTAVAIL : status);
}

struct swank *swank_connect(uv_loop_t *loop, const struct join_address *address, const char *secret,
                            const struct swank_events *events)
{
    struct swank *c = xcalloc(1, sizeof *c);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    c->loop = loop;
    c->events = *events;
    c->secret = xstrdup(secret);
    list_init(&c->requests);
    c->resolution = xcalloc(1, sizeof *c->resolution);
    c->resolution->connection = c;
    c->resolution->request.data = c->resolution;
    int status =
        uv_getaddrinfo(loop, &c->resolution->request, on_resolved, address->host, address->port, &hints);
    if (status != 0) {
        /* Only a name that is none: the callback must not run inside this call. Nothing answers. */
        free(c->resolution);
        c->resolution = NULL;
    }
    return c;
}

bool swank_request(struct swank *c, const char *form, size_t len, swank_done *done, void *arg)
{
    struct strbuf frame;
    if (c->channel == NULL || c->request_count == MOST_REQUESTS)
        return false;
    strbuf_init(&frame, 0);
    size_t at = frame_begin(&frame_swank, &frame);
    strbuf_adds(&frame, "(:emacs-rex ");
    strbuf_add(&frame, form, len);
    strbuf_addf(&frame, " \"COMMON-LISP-USER\" t %lld)", (long long)++c->last_id);
    send_frame(c, &frame, at);
    bool was_sent = !frame.is_overflown;
    strbuf_fini(&frame);
    if (!was_sent)
        return false;
    struct request *r = xcalloc(1, sizeof *r);
    *r = (struct request){.id = c->last_id, .done = done, .arg = arg};
    list_init(&r->node);
    list_append(&c->requests, &r->node);
    c->request_count++;
    return true;
}

static void destroy(struct swank *c)
{
    if (c->resolution != NULL) {
        c->resolution->connection = NULL;
        uv_cancel((uv_req_t *)&c->resolution->request);
    }
    if (c->attempt != NULL) {
        c->attempt->connection = NULL;
        uv_close((uv_handle_t *)&c->attempt->tcp, on_attempt_closed);
    }
    loop_handle_free(c->lingering);
    channel_free(c->channel);
    if (c->addresses != NULL)
        uv_freeaddrinfo(c->addresses);
    free(c->secret);
    free(c);
}

static void on_lingered(uv_timer_t *timer)
{
    destroy(timer->data);
}

/*
 * A server that still writes when its client has gone meets an error in closing the connection, which leaves
 * Swank's thread for that in the debugger, and the threads of all later connections alive. So only this end's
 * sending ends, and what comes is read until the server closes.
 */
void swank_free(struct swank *c)
{
    if (c == NULL)
        return;
    while (!list_is_empty(&c->requests))
        forget(c, list_entry(c->requests.next, struct request, node));
    if (c->channel == NULL || c->is_lost) {
        destroy(c);
        return;
    }
    shutdown(c->fd, SHUT_WR);
    c->lingering = loop_handle_timer(c->loop, c);
    uv_timer_start(c->lingering, on_lingered, LINGER_MS, 0);
}
