/*
 * The channel: uv_poll on a Unix socket rather than a libuv pipe, because descriptors are sent over it
 * (SCM_RIGHTS) and because the channel decides when to read what a dead process has left in it.
 */
#include "lisp/channel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "proc/loop_handle.h"
#include "wire/frame.h"

/* A frame that has not been written completely. */
struct pending_frame {
    struct list node;
    char *bytes;
    size_t len, sent;
    int descriptors[CHANNEL_MAX_DESCRIPTORS];
    size_t descriptor_count; /* 0 once they have been sent */
};

struct channel {
    uv_poll_t *poll; /* allocated separately: libuv frees handles later than the channel is freed */
    int fd;
    const struct frame_format *format;
    struct channel_events events;
    struct strbuf in;
    struct list out;  /* of struct pending_frame */
    size_t waiting;   /* bytes of memory that they occupy */
    bool is_overfull; /* more than MOST_WAITING: it was cut */
    bool is_closed;
    bool is_unread; /* the peer closed without reading everything that was sent */
    int depth;      /* nested calls that deliver events */
    bool is_doomed; /* its owner freed it during an event: it is freed after that, and reports no more events
                     */
};

#define READ_CHUNK ((size_t)64 << 10)   /* roughly the capacity of a Unix socket */
#define MOST_WAITING ((size_t)64 << 20) /* unread by the peer; four of the longest messages */
#define MOST_DRAINED ((size_t)SEXP_MAX_PAYLOAD + FRAME_MOST_DIGITS) /* the longest message */

static void watch(struct channel *c);

/* True if the frame was written completely, or the peer is gone: reading reports a broken socket, not this
 * function. */
static bool send_frame(struct channel *c, struct pending_frame *f)
{
    while (f->sent < f->len) {
        struct iovec part = {.iov_base = f->bytes + f->sent, .iov_len = f->len - f->sent};
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int) * CHANNEL_MAX_DESCRIPTORS)];
        } control;
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (f->descriptor_count > 0) {
            memset(&control, 0, sizeof control);
            message.msg_control = control.bytes;
            message.msg_controllen = CMSG_SPACE(sizeof(int) * f->descriptor_count);
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int) * f->descriptor_count);
            memcpy(CMSG_DATA(header), f->descriptors, sizeof(int) * f->descriptor_count);
        }
        ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            c->is_unread = true;
        if (n < 0)
            return errno != EAGAIN;
        f->sent += (size_t)n;
        while (f->descriptor_count > 0)
            close(f->descriptors[--f->descriptor_count]);
    }
    return true;
}

static void pending_frame_free(struct channel *c, struct pending_frame *f)
{
    c->waiting -= f->len + sizeof *f;
    while (f->descriptor_count > 0)
        close(f->descriptors[--f->descriptor_count]);
    list_remove(&f->node);
    free(f->bytes);
    free(f);
}

bool channel_send(struct channel *c, const struct strbuf *frame, const int *descriptors, size_t count)
{
    CHECK(count <= CHANNEL_MAX_DESCRIPTORS);
    struct pending_frame now = {.bytes = frame->bytes, .len = frame->len, .descriptor_count = count};
    if (count > 0)
        memcpy(now.descriptors, descriptors, sizeof(int) * count);
    list_init(&now.node);
    bool may_send = !c->is_closed && list_is_empty(&c->out);
    bool is_done = c->is_closed || c->is_overfull || (may_send && send_frame(c, &now));
    if (!is_done && c->waiting + now.len + sizeof now > MOST_WAITING) {
        is_done = c->is_overfull = true;
        channel_hang_up(c);
    }
    if (is_done) {
        while (now.descriptor_count > 0)
            close(now.descriptors[--now.descriptor_count]);
        return !c->is_closed && !c->is_overfull && !c->is_unread;
    }
    struct pending_frame *later = xmalloc(sizeof *later);
    *later = now;
    later->bytes = xmemdup0(frame->bytes, frame->len);
    list_init(&later->node);
    list_append(&c->out, &later->node);
    c->waiting += later->len + sizeof *later;
    watch(c);
    return true;
}

static void flush(struct channel *c)
{
    while (!list_is_empty(&c->out)) {
        struct pending_frame *f = list_entry(c->out.next, struct pending_frame, node);
        if (!send_frame(c, f))
            break;
        pending_frame_free(c, f);
    }
    watch(c);
}

/* Reported once. */
static void closed(struct channel *c, const struct err *why)
{
    c->is_closed = true;
    uv_poll_stop(c->poll);
    c->events.on_closed(c->events.arg, why);
}

/* Deliver every whole frame at the start of ${bytes}; returns their length. Stops when the channel is
 * closed or doomed. */
static size_t deliver(struct channel *c, const char *bytes, size_t len)
{
    size_t used = 0;
    while (used < len && !c->is_closed && !c->is_doomed) {
        struct frame_result r = frame_scan(c->format, bytes + used, len - used);
        if (r.status == FRAME_PARTIAL)
            break;
        struct err err = {0}, why;
        struct sexp_document *document = NULL;
        if (r.status == FRAME_COMPLETE)
            document = sexp_parse(r.payload, r.payload_len, &err);
        if (document == NULL && r.status == FRAME_COMPLETE && c->events.on_unreadable != NULL) {
            used += r.consumed;
            c->events.on_unreadable(c->events.arg, &err);
            continue;
        }
        if (document == NULL) {
            if (r.status == FRAME_COMPLETE)
                err_set(&why, ERR_SYNTAX, "it sent a message that cannot be read: %s", err.message);
            else
                err_set(&why, ERR_SYNTAX, "it sent something other than a message of at most %u bytes",
                        SEXP_MAX_PAYLOAD);
            closed(c, &why);
            break;
        }
        used += r.consumed;
        c->events.on_message(c->events.arg, document);
    }
    return used;
}

/*
 * Read once, at most ${most} bytes; returns how many, 0 if there are none.
 *
 * A whole message is parsed in the read buffer; only an incomplete one is kept, so that an idle channel needs
 * no memory.
 */
static size_t read_some(struct channel *c, size_t most)
{
    char chunk[READ_CHUNK];
    ssize_t n = read(c->fd, chunk, most < sizeof chunk ? most : sizeof chunk);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        struct err why;
        c->is_unread = c->is_unread || (n < 0 && errno == ECONNRESET);
        err_set(&why, ERR_LIMIT, "it does not read what it is sent");
        closed(c, c->is_overfull ? &why : NULL);
        return 0;
    }
    if (c->in.len == 0) {
        size_t used = deliver(c, chunk, (size_t)n);
        if (used < (size_t)n && !c->is_closed)
            CHECK(strbuf_add(&c->in, chunk + used, (size_t)n - used));
    } else {
        /* frame_scan() rejects a frame over the limit by its header, so the kept part never reaches the
         * cap. */
        CHECK(strbuf_add(&c->in, chunk, (size_t)n));
        strbuf_consume(&c->in, deliver(c, c->in.bytes, c->in.len));
        if (c->in.len == 0)
            strbuf_fini(&c->in);
    }
    return (size_t)n;
}

static void destroy(struct channel *c);

/* Events are delivered between these two, and in each of them the owner may free the channel. */
static void hold(struct channel *c)
{
    c->depth++;
}

static void release(struct channel *c)
{
    if (--c->depth == 0 && c->is_doomed)
        destroy(c);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct channel *c = handle->data;
    hold(c);
    if (status == 0 && (events & UV_WRITABLE) != 0)
        flush(c);
    /* If only EPOLLERR is reported, reading returns the reason. */
    if (status < 0 || (events & UV_WRITABLE) == 0 || (events & UV_READABLE) != 0)
        read_some(c, READ_CHUNK);
    release(c);
}

static void watch(struct channel *c)
{
    if (!c->is_closed && !c->is_doomed)
        uv_poll_start(c->poll, UV_READABLE | (list_is_empty(&c->out) ? 0 : UV_WRITABLE), on_poll);
}

/*
 * unix(7): a socket whose peer has closed with something unread has the error ECONNRESET, once. A copy of the
 * process that has just been made may hold the other end for another moment; SIOCOUTQ says what was not read.
 */
bool channel_was_unread(struct channel *c)
{
    int error = 0, left = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == ECONNRESET)
        c->is_unread = true;
    if (ioctl(c->fd, SIOCOUTQ, &left) == 0 && left > 0)
        c->is_unread = true;
    return c->is_unread;
}

void channel_drain(struct channel *c)
{
    /*
     * Children of the dead process may hold the other end, too, and keep writing, so reading until the socket
     * is empty might never end. What the process itself sent is in the socket already: unix(7), SIOCINQ.
     */
    int waiting = 0;
    if (c->is_closed || ioctl(c->fd, FIONREAD, &waiting) != 0)
        return;
    size_t left = (size_t)waiting < MOST_DRAINED ? (size_t)waiting : MOST_DRAINED;
    hold(c);
    while (left > 0 && !c->is_closed && !c->is_doomed) {
        size_t n = read_some(c, left);
        if (n == 0)
            break;
        left -= n;
    }
    release(c);
}

struct channel *channel_new(uv_loop_t *loop, int fd, const struct frame_format *format,
                            const struct channel_events *events)
{
    struct channel *c = xcalloc(1, sizeof *c);
    c->fd = fd;
    c->format = format;
    c->events = *events;
    strbuf_init(&c->in, (size_t)SEXP_MAX_PAYLOAD + FRAME_MOST_DIGITS + 2 * READ_CHUNK);
    list_init(&c->out);
    c->poll = loop_handle_poll(loop, fd, c);
    watch(c);
    return c;
}

static void destroy(struct channel *c)
{
    while (!list_is_empty(&c->out))
        pending_frame_free(c, list_entry(c->out.next, struct pending_frame, node));
    loop_handle_free(c->poll);
    close(c->fd);
    strbuf_fini(&c->in);
    free(c);
}

void channel_hang_up(struct channel *c)
{
    shutdown(c->fd, SHUT_RDWR);
}

void channel_free(struct channel *c)
{
    if (c == NULL)
        return;
    c->is_doomed = true;
    uv_poll_stop(c->poll);
    if (c->depth == 0)
        destroy(c);
}
