/*
 * Responsible for reading and writing whole lines on descriptors 0 and 1, of any kind. Knows
 * nothing about the lines' meaning.
 *
 * Pipes, sockets and terminals are polled. Regular files and devices such as /dev/null cannot be: they are
 * read one piece per turn of the loop and written at once, which never waits for a peer.
 *
 * Invariants: (1) output that the descriptor has not accepted waits in ${queue}, so order is kept; (2) while
 * more than MOST_QUEUED bytes wait, nothing is read and no message is delivered, so a peer that does not read
 * cannot make the server store ever more answers; (3) events are called from the loop, never from inside a
 * function that the owner called.
 */
#include "mcp/transport_stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "proc/loop_handle.h"

#define MOST_QUEUED (16u << 20)
#define RESUME_BELOW (8u << 20)

/* What was read before may still be answered: beyond this much, a peer that does not read is cut off. */
#define MOST_WAITING (128u << 20)

/* Read at least this much at a time, and at most this much while a long line arrives. */
#define SMALL_READ (64u << 10)
#define LARGE_READ (1u << 20)

/* A buffer that one large message has grown beyond this is freed. */
#define KEPT_CAPACITY (1u << 20)

#define CLOSE_TIMEOUT_MS 2000

struct transport_stdio {
    struct transport_stdio_events events;
    int in_flags, out_flags; /* of the descriptors, to be restored */
    uv_poll_t *in, *out;     /* NULL: a file, which cannot be polled */
    uv_idle_t *turn; /* reads a piece of a file in each turn, and reports a broken output from the loop */
    struct strbuf buffer; /* read but not delivered */
    size_t searched;      /* its first bytes that contain no newline */
    bool is_skipping;     /* the line being read is too long: drop the rest of it */
    bool is_reading, is_ended, has_said_end;
    bool is_broken;
    bool is_half_closed; /* the peer writes nothing more, which is no news about the output */
    struct strbuf queue; /* to be written, from ${written} on */
    size_t written;
};

static void on_turn(uv_idle_t *turn);
static void go_on(struct transport_stdio *t);

static size_t queued(const struct transport_stdio *t)
{
    return t->queue.len - t->written;
}

static void empty(struct strbuf *b)
{
    if (b->capacity > KEPT_CAPACITY)
        strbuf_fini(b);
    else
        strbuf_clear(b);
}

static void drop_written(struct transport_stdio *t)
{
    if (queued(t) == 0)
        empty(&t->queue);
    else if (t->written > t->queue.len / 2)
        strbuf_consume(&t->queue, t->written);
    else
        return;
    t->written = 0;
}

static void set_broken(struct transport_stdio *t, const char *why)
{
    t->is_broken = true;
    log_info("cannot write standard output: %s", why);
    t->written = t->queue.len;
    uv_idle_start(t->turn, on_turn);
}

static void on_output(uv_poll_t *out, int status, int events);

/* Without UV_DISCONNECT, the server would learn that its client has died only when it next writes. */
static void watch_output(struct transport_stdio *t)
{
    int events =
        t->is_broken ? 0 : (t->is_half_closed ? 0 : UV_DISCONNECT) | (queued(t) > 0 ? UV_WRITABLE : 0);
    if (t->out != NULL)
        uv_poll_start(t->out, events, on_output);
}

/* Write what the descriptor accepts at once. */
static void write_queued(struct transport_stdio *t)
{
    while (queued(t) > 0) {
        ssize_t n = write(1, t->queue.bytes + t->written, queued(t));
        if (n >= 0)
            t->written += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            set_broken(t, strerror(errno));
    }
    drop_written(t);
    watch_output(t);
}

/* A pipe without readers has POLLERR, a socket whose peer has closed both directions POLLHUP. Half-closing a
 * socket ends the input only. Source: pipe(7), poll(2). */
static void on_output(uv_poll_t *out, int status, int events)
{
    struct transport_stdio *t = out->data;
    struct pollfd now = {.fd = 1};
    if (poll(&now, 1, 0) == 1 && (now.revents & (POLLERR | POLLHUP)) != 0)
        set_broken(t, strerror(EPIPE));
    t->is_half_closed = t->is_half_closed || (events & UV_DISCONNECT) != 0;
    write_queued(t);
    if (queued(t) < RESUME_BELOW)
        go_on(t);
}

void transport_stdio_send(void *arg, const struct transport_message *message)
{
    struct transport_stdio *t = arg;
    bool is_waiting = queued(t) > 0;
    if (!t->is_broken && queued(t) + message->len > MOST_WAITING)
        set_broken(t, "the client does not read it");
    if (t->is_broken)
        return;
    strbuf_add(&t->queue, message->bytes, message->len);
    strbuf_addc(&t->queue, '\n');
    if (!is_waiting)
        write_queued(t);
}

static bool is_paused(const struct transport_stdio *t)
{
    return t->is_broken || queued(t) > MOST_QUEUED;
}

static bool is_blank(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
            return false;
    }
    return true;
}

static void deliver_line(struct transport_stdio *t, char *bytes, size_t len)
{
    if (t->is_skipping) {
        t->is_skipping = false;
        t->events.on_oversized(t->events.client);
        return;
    }
    if (len > 0 && bytes[len - 1] == '\r')
        len--;
    if (is_blank(bytes, len))
        return;
    if (len > TRANSPORT_MAX_MESSAGE)
        t->events.on_oversized(t->events.client);
    else
        t->events.on_message(t->events.client, NULL, bytes, len);
}

/* Deliver the whole lines in the buffer, until none is left or reading must pause. */
static void deliver(struct transport_stdio *t)
{
    size_t at = 0;
    while (!is_paused(t) && t->buffer.len - at > t->searched) {
        char *newline = memchr(t->buffer.bytes + at + t->searched, '\n', t->buffer.len - at - t->searched);
        if (newline == NULL) {
            t->searched = t->buffer.len - at;
            break;
        }
        size_t len = (size_t)(newline - (t->buffer.bytes + at));
        t->searched = 0;
        deliver_line(t, t->buffer.bytes + at, len);
        at += len + 1;
    }
    strbuf_consume(&t->buffer, at);
    if (t->buffer.len > 0 && t->searched == t->buffer.len &&
        (t->is_skipping || t->buffer.len > TRANSPORT_MAX_MESSAGE + 1)) {
        /* One more for a \r. The line itself is dropped, but its end must be found. */
        t->is_skipping = true;
        t->searched = 0;
        strbuf_fini(&t->buffer);
    }
    if (t->buffer.len == 0)
        empty(&t->buffer);
}

/* The last line may lack its newline. */
static void deliver_end(struct transport_stdio *t)
{
    size_t len = t->buffer.len;
    if (is_paused(t) || t->has_said_end)
        return;
    if (t->is_skipping || len > 0) {
        t->searched = 0;
        deliver_line(t, t->buffer.bytes, len);
        strbuf_fini(&t->buffer);
    }
    t->has_said_end = true;
    t->events.on_end(t->events.arg);
}

static void read_piece(struct transport_stdio *t)
{
    size_t len = t->buffer.len < LARGE_READ ? SMALL_READ : LARGE_READ;
    char *room = strbuf_reserve(&t->buffer, len);
    ssize_t n = room != NULL ? read(0, room, len) : 0;
    if (n > 0)
        strbuf_added(&t->buffer, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        t->is_ended = true;
    if (n < 0 && t->is_ended)
        log_info("cannot read standard input: %s", strerror(errno));
}

static void on_input(uv_poll_t *in, int status, int events)
{
    struct transport_stdio *t = in->data;
    t->is_reading = status == 0; /* libuv stops watching after an error */
    read_piece(t);
    go_on(t);
}

static void on_turn(uv_idle_t *turn)
{
    struct transport_stdio *t = turn->data;
    if (t->is_broken) {
        uv_idle_stop(turn);
        t->events.on_broken(t->events.arg);
        return;
    }
    read_piece(t);
    go_on(t);
}

static void set_reading(struct transport_stdio *t, bool on)
{
    if (on == t->is_reading)
        return;
    t->is_reading = on;
    if (t->in == NULL && on)
        uv_idle_start(t->turn, on_turn);
    else if (t->in == NULL && !t->is_broken)
        uv_idle_stop(t->turn);
    else if (t->in != NULL)
        uv_poll_start(t->in, on ? UV_READABLE : 0, on_input);
}

/* Deliver and read on, as far as the output queue allows. */
static void go_on(struct transport_stdio *t)
{
    deliver(t);
    set_reading(t, !t->is_ended && !is_paused(t));
    if (t->is_ended)
        deliver_end(t);
}

struct transport_stdio *transport_stdio_new(uv_loop_t *loop, struct err *err)
{
    /* Both before either is polled: they may be the same file. */
    int in_flags = fcntl(0, F_GETFL), out_flags = fcntl(1, F_GETFL);
    if (in_flags < 0 || out_flags < 0) {
        err_set(err, ERR_START, "%s is closed", in_flags < 0 ? "standard input" : "standard output");
        return NULL;
    }
    struct transport_stdio *t = xcalloc(1, sizeof *t);
    t->in_flags = in_flags;
    t->out_flags = out_flags;
    t->in = loop_handle_try_poll(loop, 0, t);
    t->out = loop_handle_try_poll(loop, 1, t);
    t->turn = loop_handle_idle(loop, t);
    /* Room for a line of the largest size, its end, and the bytes read beyond it. */
    strbuf_init(&t->buffer, (size_t)TRANSPORT_MAX_MESSAGE + 2 * LARGE_READ);
    watch_output(t);
    return t;
}

void transport_stdio_begin(struct transport_stdio *t, const struct transport_stdio_events *events)
{
    t->events = *events;
    set_reading(t, true);
}

static void write_rest(struct transport_stdio *t)
{
    const uint64_t end_ms = uv_hrtime() / 1000000 + CLOSE_TIMEOUT_MS;
    struct pollfd out = {.fd = 1, .events = POLLOUT};
    for (uint64_t now_ms; queued(t) > 0 && (now_ms = uv_hrtime() / 1000000) < end_ms; write_queued(t))
        poll(&out, 1, (int)(end_ms - now_ms));
    if (queued(t) > 0)
        log_info("the client does not read its input: %zu bytes were dropped", queued(t));
}

void transport_stdio_free(struct transport_stdio *t)
{
    if (t == NULL)
        return;
    write_rest(t);
    loop_handle_free(t->in);
    loop_handle_free(t->out);
    loop_handle_free(t->turn);
    /* libuv made them non-blocking, which would affect others that share them, such as a shell. */
    (void)fcntl(0, F_SETFL, t->in_flags);
    (void)fcntl(1, F_SETFL, t->out_flags);
    strbuf_fini(&t->buffer);
    strbuf_fini(&t->queue);
    free(t);
}
