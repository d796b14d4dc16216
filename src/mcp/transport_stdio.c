/*
 * Responsible for reading and writing whole lines on descriptors 0 and 1, of any kind. Knows
 * nothing about the lines' meaning.
 *
 * Streams (pipes, sockets, terminals) go through libuv. Regular files and devices such as /dev/null cannot
 * be polled: they are read one piece per turn of the loop and written at once, which never waits for a
 * peer.
 *
 * Invariants: (1) at most one uv_write is in progress, for ${writing}; later output waits in ${waiting},
 * so order is kept; (2) while more than MOST_QUEUED bytes are queued, nothing is read and no message is
 * delivered, so a peer that does not read cannot make the server store ever more answers; (3) events are
 * called from the loop, never from inside a function that the owner called; (4) once is_closing is set, no
 * event is called.
 */
#include "mcp/transport_stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "proc/loop_handle.h"

#define MOST_QUEUED (16u << 20)
#define RESUME_BELOW (8u << 20)

/* Read at least this much at a time, and at most this much while a long line arrives. */
#define SMALL_READ (64u << 10)
#define LARGE_READ (1u << 20)

/* A buffer that one large message has grown beyond this is freed. */
#define KEPT_CAPACITY (1u << 20)

#define CLOSE_TIMEOUT_MS 2000

struct end {
    uv_handle_type type; /* UV_FILE: not polled, stream is unused */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
        uv_tcp_t tcp;
    } as;
    int flags; /* of the descriptor, to be restored; -1: unknown */
};

struct transport_stdio {
    uv_loop_t *loop;
    struct transport_stdio_events events;
    struct end in, out;
    uv_poll_t *reader;   /* of the output: watches for its end; NULL: not watched */
    int reader_fd;       /* a duplicate, because libuv watches a descriptor once */
    uv_idle_t turn;      /* input is a file: read a piece each turn */
    uv_timer_t news;     /* calls on_broken or delivers more, from the loop */
    uv_timer_t deadline; /* of close */
    int open_handles;
    struct strbuf buffer; /* read but not delivered */
    size_t searched;      /* its first bytes that contain no newline */
    bool is_skipping;     /* the line being read is too long: drop the rest of it */
    bool is_reading, is_ended, has_said_end;
    bool is_broken, has_said_broken;
    bool is_closing, is_torn_down;
    uv_write_t write;
    bool is_writing;
    struct strbuf writing, waiting;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static void go_on(struct transport_stdio *t);
static void tear_down_if_drained(struct transport_stdio *t);

static size_t queued(const struct transport_stdio *t)
{
    return t->writing.len + t->waiting.len;
}

static void empty(struct strbuf *b)
{
    if (b->capacity > KEPT_CAPACITY)
        strbuf_fini(b);
    else
        strbuf_clear(b);
}

static void on_news(uv_timer_t *timer)
{
    struct transport_stdio *t = timer->data;
    if (t->is_closing)
        return;
    if (t->is_broken && !t->has_said_broken) {
        t->has_said_broken = true;
        if (t->events.on_broken)
            t->events.on_broken(t->events.arg);
        return;
    }
    go_on(t);
}

/* Run on_news soon, from the loop. */
static void wake(struct transport_stdio *t)
{
    if (!t->is_torn_down)
        uv_timer_start(&t->news, on_news, 0, 0);
}

static void set_broken(struct transport_stdio *t, int error)
{
    if (t->is_broken)
        return;
    t->is_broken = true;
    log_info("cannot write standard output: %s", uv_strerror(error));
    empty(&t->waiting);
    if (!t->is_writing)
        empty(&t->writing);
    wake(t);
}

static void stop_watching_reader(struct transport_stdio *t)
{
    if (t->reader == NULL)
        return;
    loop_handle_free(t->reader);
    close(t->reader_fd);
    t->reader = NULL;
}

/* A pipe without readers has POLLERR, a socket whose peer has closed both directions POLLHUP. Half-closing a
 * socket ends the input only. Source: pipe(7), poll(2). */
static void on_reader(uv_poll_t *poll_handle, int status, int events)
{
    struct transport_stdio *t = poll_handle->data;
    struct pollfd now = {.fd = t->reader_fd};
    bool is_gone = poll(&now, 1, 0) == 1 && (now.revents & (POLLERR | POLLHUP)) != 0;
    stop_watching_reader(t);
    if (is_gone)
        set_broken(t, UV_EPIPE);
}

/* Without this, the server would learn that its client has died only when it next writes. */
static void watch_reader(struct transport_stdio *t)
{
    if (t->out.type != UV_NAMED_PIPE && t->out.type != UV_TCP)
        return;
    t->reader_fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (t->reader_fd < 0)
        return;
    t->reader = loop_handle_poll(t->loop, t->reader_fd, t);
    CHECK(uv_poll_start(t->reader, UV_DISCONNECT, on_reader) == 0);
}

static void start_writing(struct transport_stdio *t);

static void on_written(uv_write_t *write, int status)
{
    struct transport_stdio *t = write->data;
    t->is_writing = false;
    empty(&t->writing);
    if (t->is_torn_down)
        return;
    if (status < 0)
        set_broken(t, status);
    else
        start_writing(t);
    if (t->is_closing)
        tear_down_if_drained(t);
    else if (queued(t) < RESUME_BELOW)
        go_on(t);
}

/* Pass what waits to libuv, if there is anything and no write is in progress. */
static void start_writing(struct transport_stdio *t)
{
    struct strbuf spare = t->writing;
    if (t->is_writing || t->is_broken || t->waiting.len == 0)
        return;
    t->writing = t->waiting;
    t->waiting = spare;
    uv_buf_t chunk = {.base = t->writing.bytes, .len = t->writing.len};
    t->write.data = t;
    int error = uv_write(&t->write, &t->out.as.stream, &chunk, 1, on_written);
    if (error < 0) {
        set_broken(t, error);
        return;
    }
    t->is_writing = true;
}

/* Write what the descriptor accepts at once; the number of bytes, or a negative error. */
static ssize_t write_now(struct transport_stdio *t, const char *bytes, size_t len)
{
    size_t done = 0, total = len + 1;
    ssize_t n;
    while (done < total) {
        uv_buf_t chunks[2];
        chunks[0] = (uv_buf_t){.base = (char *)(uintptr_t)bytes, .len = len};
        chunks[1] = (uv_buf_t){.base = (char *)(uintptr_t) "\n", .len = 1};
        if (done < len) {
            chunks[0].base += done;
            chunks[0].len -= done;
        }
        if (t->out.type == UV_FILE)
            n = done < len ? write(1, chunks[0].base, chunks[0].len) : write(1, chunks[1].base, 1);
        else if (done < len)
            n = uv_try_write(&t->out.as.stream, chunks, 2);
        else
            n = uv_try_write(&t->out.as.stream, chunks + 1, 1);
        if (t->out.type == UV_FILE && n < 0 && errno == EINTR)
            continue;
        if (n < 0 && t->out.type == UV_FILE)
            return uv_translate_sys_error(errno);
        if (n == UV_EAGAIN)
            break;
        if (n < 0)
            return n;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

void transport_stdio_send(void *arg, const char *bytes, size_t len)
{
    struct transport_stdio *t = arg;
    ssize_t n = 0;
    if (t->is_broken || t->is_torn_down)
        return;
    if (!t->is_writing && t->waiting.len == 0) {
        n = write_now(t, bytes, len);
        if (n < 0) {
            set_broken(t, (int)n);
            return;
        }
        if ((size_t)n == len + 1)
            return;
    }
    if ((size_t)n < len)
        strbuf_add(&t->waiting, bytes + n, len - (size_t)n);
    strbuf_addc(&t->waiting, '\n');
    start_writing(t);
}

static bool is_paused(const struct transport_stdio *t)
{
    return t->is_closing || t->is_broken || queued(t) > MOST_QUEUED;
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
        t->events.on_oversized(t->events.arg);
        return;
    }
    if (len > 0 && bytes[len - 1] == '\r')
        len--;
    if (is_blank(bytes, len))
        return;
    if (len > TRANSPORT_MAX_MESSAGE)
        t->events.on_oversized(t->events.arg);
    else
        t->events.on_message(t->events.arg, bytes, len);
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
    if (!t->is_closing)
        t->events.on_end(t->events.arg);
}

static void end_input(struct transport_stdio *t, int error)
{
    if (error < 0 && error != UV_EOF)
        log_info("cannot read standard input: %s", uv_strerror(error));
    t->is_ended = true;
}

static char *room(struct transport_stdio *t, size_t *len)
{
    *len = t->buffer.len < LARGE_READ ? SMALL_READ : LARGE_READ;
    return strbuf_reserve(&t->buffer, *len);
}

static void on_room_wanted(uv_handle_t *handle, size_t suggested, uv_buf_t *chunk)
{
    struct transport_stdio *t = handle->data;
    size_t len;
    chunk->base = room(t, &len);
    chunk->len = chunk->base != NULL ? len : 0;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *chunk)
{
    struct transport_stdio *t = stream->data;
    if (n == 0)
        return;
    if (n > 0)
        strbuf_added(&t->buffer, (size_t)n);
    else
        end_input(t, (int)n);
    go_on(t);
}

static void on_turn(uv_idle_t *turn)
{
    struct transport_stdio *t = turn->data;
    size_t len;
    char *bytes = room(t, &len);
    ssize_t n;
    do {
        n = bytes != NULL ? read(0, bytes, len) : 0;
    } while (n < 0 && errno == EINTR);
    if (n > 0)
        strbuf_added(&t->buffer, (size_t)n);
    else
        end_input(t, n < 0 ? uv_translate_sys_error(errno) : UV_EOF);
    go_on(t);
}

static void set_reading(struct transport_stdio *t, bool on)
{
    int error = 0;
    if (on == t->is_reading)
        return;
    t->is_reading = on;
    if (t->in.type == UV_FILE) {
        if (on)
            uv_idle_start(&t->turn, on_turn);
        else
            uv_idle_stop(&t->turn);
    } else if (on) {
        error = uv_read_start(&t->in.as.stream, on_room_wanted, on_read);
    } else {
        uv_read_stop(&t->in.as.stream);
    }
    if (error < 0) {
        t->is_reading = false;
        end_input(t, error);
        wake(t);
    }
}

/* Deliver and read on, as far as the output queue allows. */
static void go_on(struct transport_stdio *t)
{
    if (t->is_closing)
        return;
    deliver(t);
    if (t->is_closing)
        return;
    set_reading(t, !t->is_ended && !is_paused(t));
    if (t->is_ended)
        deliver_end(t);
}

static bool open_end(struct transport_stdio *t, struct end *e, int descriptor, struct err *err)
{
    bool is_input = descriptor == 0;
    const char *name = is_input ? "standard input" : "standard output";
    int error = 0;
    e->type = uv_guess_handle(descriptor);
    switch ((int)e->type) {
    case UV_NAMED_PIPE:
        uv_pipe_init(t->loop, &e->as.pipe, 0);
        error = uv_pipe_open(&e->as.pipe, descriptor);
        break;
    case UV_TCP:
        uv_tcp_init(t->loop, &e->as.tcp);
        error = uv_tcp_open(&e->as.tcp, descriptor);
        break;
    case UV_TTY:
        /* A terminal that cannot be opened has no handle to close. */
        error = uv_tty_init(t->loop, &e->as.tty, descriptor, 0);
        if (error < 0) {
            e->type = UV_UNKNOWN_HANDLE;
            return err_set(err, ERR_START, "%s: %s", name, uv_strerror(error));
        }
        break;
    case UV_FILE:
        return true;
    default:
        e->type = UV_UNKNOWN_HANDLE;
        return err_set(err, ERR_START, "%s is closed or is not a byte stream", name);
    }
    e->as.handle.data = t;
    t->open_handles++;
    if (error < 0)
        return err_set(err, ERR_START, "%s: %s", name, uv_strerror(error));
    return true;
}

static void finish_close(struct transport_stdio *t)
{
    void (*done)(void *arg) = t->on_closed;
    void *arg = t->on_closed_arg;
    strbuf_fini(&t->buffer);
    strbuf_fini(&t->writing);
    strbuf_fini(&t->waiting);
    free(t);
    if (done)
        done(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct transport_stdio *t = handle->data;
    if (--t->open_handles == 0)
        finish_close(t);
}

/* libuv made the descriptor non-blocking, which would affect others that share it, such as a shell. */
static void close_end(struct end *e, int descriptor)
{
    if (e->type == UV_FILE || e->type == UV_UNKNOWN_HANDLE)
        return;
    if (e->flags >= 0)
        (void)fcntl(descriptor, F_SETFL, e->flags);
    uv_close(&e->as.handle, on_handle_closed);
}

static void tear_down(struct transport_stdio *t)
{
    if (t->is_torn_down)
        return;
    t->is_closing = t->is_torn_down = true;
    stop_watching_reader(t);
    close_end(&t->in, 0);
    close_end(&t->out, 1);
    uv_close((uv_handle_t *)&t->turn, on_handle_closed);
    uv_close((uv_handle_t *)&t->news, on_handle_closed);
    uv_close((uv_handle_t *)&t->deadline, on_handle_closed);
}

static void tear_down_if_drained(struct transport_stdio *t)
{
    if (t->is_broken || (!t->is_writing && t->waiting.len == 0))
        tear_down(t);
}

static void on_deadline(uv_timer_t *timer)
{
    struct transport_stdio *t = timer->data;
    log_info("the client does not read its input: %zu bytes were dropped", queued(t));
    tear_down(t);
}

struct transport_stdio *transport_stdio_new(uv_loop_t *loop, const struct transport_stdio_events *events,
                                            struct err *err)
{
    struct transport_stdio *t = xcalloc(1, sizeof *t);
    t->loop = loop;
    t->events = *events;
    t->in.type = t->out.type = UV_UNKNOWN_HANDLE;
    /* Room for a line of the largest size, its end, and the bytes read beyond it. */
    strbuf_init(&t->buffer, (size_t)TRANSPORT_MAX_MESSAGE + 2 * LARGE_READ);
    strbuf_init(&t->writing, 0);
    strbuf_init(&t->waiting, 0);
    uv_idle_init(loop, &t->turn);
    uv_timer_init(loop, &t->news);
    uv_timer_init(loop, &t->deadline);
    t->turn.data = t->news.data = t->deadline.data = t;
    t->open_handles = 3;
    /* Both before opening either: they may be the same file. */
    t->in.flags = fcntl(0, F_GETFL);
    t->out.flags = fcntl(1, F_GETFL);
    if (!open_end(t, &t->in, 0, err) || !open_end(t, &t->out, 1, err)) {
        tear_down(t);
        return NULL;
    }
    watch_reader(t);
    set_reading(t, true);
    return t;
}

void transport_stdio_close(struct transport_stdio *t, void (*done)(void *arg), void *arg)
{
    CHECK(!t->is_closing);
    set_reading(t, false);
    t->is_closing = true;
    t->on_closed = done;
    t->on_closed_arg = arg;
    uv_timer_stop(&t->news);
    uv_timer_start(&t->deadline, on_deadline, CLOSE_TIMEOUT_MS, 0);
    tear_down_if_drained(t);
}
