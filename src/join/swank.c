/*
 * Responsible for one connection to a Swank or Slynk server.
 *
 * Another thread finds the addresses of the name and connects to the first one that answers.
 */
#include "join/swank.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "join/address.h"
#include "join/listener_owner.h"
#include "lisp/channel.h"
#include "proc/loop_handle.h"
#include "wire/frame.h"

#define MOST_REQUESTS 1000
#define LINGER_MS 2000
#define LONGEST_ANSWER ((size_t)4 << 10) /* to a message of the server, which we repeat in part */
#define CONNECT_S 5                      /* to each address */

/* The thread uses it, perhaps after the connection was freed. */
struct attempt {
    uv_work_t work;
    struct join_address address;
    int fd; /* -1: it failed */
    char why[100];
    bool asks_owner;          /* what is sent depends on whose the listener is */
    struct err not_ours;      /* why the listener may be another's; ERR_NONE: it is the user's */
    struct swank *connection; /* NULL: it was freed */
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
    enum swank_trust trust;
    struct attempt *attempt; /* NULL once it has ended */
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
    strbuf_init(&answer, LONGEST_ANSWER);
    acknowledge(c);
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
    struct strbuf frame = {0};
    if (c->secret == NULL)
        return;
    size_t at = frame_begin(&frame_swank, &frame);
    strbuf_adds(&frame, c->secret);
    send_frame(c, &frame, at);
    strbuf_fini(&frame);
}

static void start(struct swank *c, int fd, const struct err *not_ours)
{
    bool is_withheld = not_ours->code != ERR_NONE;
    struct channel_events events = {
        .on_message = on_message, .on_closed = on_closed, .on_unreadable = on_unreadable, .arg = c};
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->fd = fd;
    c->channel = channel_new(c->loop, fd, &frame_swank, &events);
    if (!is_withheld)
        send_secret(c);
    c->events.on_connected(c->events.arg, is_withheld ? not_ours : NULL);
}

static void connect_in_thread(uv_work_t *work)
{
    struct attempt *a = work->data;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = CONNECT_S};
    struct addrinfo *addresses = NULL;
    int wrong = getaddrinfo(a->address.host, a->address.port, &hints, &addresses);
    snprintf(a->why, sizeof a->why, "%s", gai_strerror(wrong));
    for (const struct addrinfo *at = wrong == 0 ? addresses : NULL; at != NULL && a->fd < 0;
         at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
            connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
            a->fd = fd;
            break;
        }
        snprintf(a->why, sizeof a->why, "%s", uv_strerror(-errno));
        if (fd >= 0)
            close(fd);
    }
    if (wrong == 0)
        freeaddrinfo(addresses);
    if (a->fd >= 0 && a->asks_owner)
        listener_is_ours(a->fd, &a->not_ours);
}

static void on_attempted(uv_work_t *work, int status)
{
    struct attempt *a = work->data;
    struct swank *c = a->connection;
    if (c != NULL)
        c->attempt = NULL;
    bool is_refused = c != NULL && c->trust == SWANK_NOTHING && a->not_ours.code != ERR_NONE;
    if (a->fd >= 0 && (c == NULL || is_refused))
        close(a->fd);
    if (is_refused) {
        lost(c, &a->not_ours);
    } else if (c != NULL && a->fd >= 0) {
        start(c, a->fd, &a->not_ours);
    } else if (c != NULL) {
        struct err why;
        err_set(&why, ERR_GONE, "%s", a->why);
        lost(c, &why);
    }
    free(a);
}

struct swank *swank_connect(uv_loop_t *loop, const struct join_address *address, const char *secret,
                            enum swank_trust trust, const struct swank_events *events)
{
    struct swank *c = xcalloc(1, sizeof *c);
    c->loop = loop;
    c->events = *events;
    c->secret = xstrdup(secret);
    c->trust = trust;
    list_init(&c->requests);
    c->attempt = xcalloc(1, sizeof *c->attempt);
    c->attempt->address = *address;
    c->attempt->fd = -1;
    c->attempt->asks_owner = trust == SWANK_NOTHING || (trust == SWANK_NO_SECRET && secret != NULL);
    c->attempt->connection = c;
    c->attempt->work.data = c->attempt;
    uv_queue_work(loop, &c->attempt->work, connect_in_thread, on_attempted);
    return c;
}

bool swank_request(struct swank *c, const char *form, size_t len, swank_done *done, void *arg)
{
    struct strbuf frame = {0};
    if (c->channel == NULL || c->request_count == MOST_REQUESTS)
        return false;
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
    if (c->attempt != NULL) {
        c->attempt->connection = NULL;
        uv_cancel((uv_req_t *)&c->attempt->work);
    }
    loop_handle_free(c->lingering);
    channel_free(c->channel);
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
