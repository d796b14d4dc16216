/*
 * Responsible for one Lisp process. A worker is gone when its process has been reaped *and* the data in its
 * pipes has been read. If the channel closes first, the process is killed, because it can no longer be
 * reached.
 */
#include "lisp/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/quota.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "lisp/channel.h"
#include "proc/loop_handle.h"
#include "proc/spawn.h"
#include "wire/frame.h"

#define OUTPUT_CHUNK ((size_t)64 << 10) /* what a pipe holds by default */
#define DRAIN_CHUNKS 64                 /* read at a time, so that a flood of output cannot block the loop */
#define MOST_AWAITED 8                  /* a call, or requests for copies */
/* When memory runs out, the kernel kills waiting copies before sessions, and sessions before the server. */
#define COPY_EXPENDABLE 600
#define SESSION_EXPENDABLE 300
#define MOST_STRAYS 100 /* messages that answer nothing, such as a late answer to a request for a copy */

struct output_pipe {
    uv_poll_t *poll; /* NULL once closed */
    int fd;
    enum worker_stream stream;
    struct outputs *outputs;
};

/* The two output pipes of a process and of all its copies; lives as long as any of them. */
struct outputs {
    int references;
    struct output_pipe pipes[2];
    void (*on_output)(void *arg, enum worker_stream stream, const char *bytes, size_t len);
    void *arg;
};

struct worker {
    uv_loop_t *loop;
    struct children *children;
    struct quota *quota; /* counts the process; NULL: not counted */
    struct worker_events events;
    enum worker_state state;
    struct channel *channel;       /* NULL once closed */
    struct child *child;           /* NULL while the pid is unknown */
    struct outputs *outputs;       /* NULL: those of a process that is not ours come as messages */
    struct worker_carrier carrier; /* its ${send} is NULL for a process of ours */
    struct list looks;             /* look-ups in a process that is not ours, by ${look} */
    struct list look;
    int presses;               /* how often the call was interrupted */
    int awaited[MOST_AWAITED]; /* the ids of unanswered requests, in the order of sending */
    size_t awaited_count;
    bool has_missed;   /* it ended before it had read all that was sent */
    int lost_id;       /* of the first request that could not be sent; 0: none */
    int call_id;       /* of the last call; requests for copies are not interrupted */
    int looked_id;     /* of the call after which a look-up was sent; 0: none was */
    uint64_t identity; /* never 0, like the next */
    uint64_t random;
    int strays;           /* messages that answered nothing */
    struct err why_ended; /* why its channel was closed by us; ERR_NONE: it was not */
    bool is_dead;         /* reaped; its remaining output is being read */
    bool is_pristine;     /* a copy that has run nothing: it cannot have children */
    bool is_ending;       /* in gone() */
    bool is_doomed; /* its owner freed it in gone(): it is freed after that, and reports no more events */
};

static void close_pipe(struct output_pipe *p)
{
    if (p->poll == NULL)
        return;
    loop_handle_free(p->poll);
    close(p->fd);
    p->poll = NULL;
    p->fd = -1;
}

/* Read at most ${chunks} times; stop early if the pipe is empty. */
static void drain_pipe(struct output_pipe *p, int chunks)
{
    while (p->poll != NULL && chunks-- > 0) {
        char bytes[OUTPUT_CHUNK];
        ssize_t n = read(p->fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            /* All writers have closed it, which the user's code may do. */
            close_pipe(p);
            return;
        }
        p->outputs->on_output(p->outputs->arg, p->stream, bytes, (size_t)n);
        if ((size_t)n < sizeof bytes)
            return;
    }
}

static void on_output_ready(uv_poll_t *handle, int status, int events)
{
    drain_pipe(handle->data, 4);
}

/* Deliver what the process has written so far, but only a bounded amount, so that a flood cannot block the
 * loop. */
static void drain_output(struct worker *w)
{
    if (w->outputs == NULL)
        return;
    drain_pipe(&w->outputs->pipes[0], DRAIN_CHUNKS);
    drain_pipe(&w->outputs->pipes[1], DRAIN_CHUNKS);
}

static void outputs_release(struct outputs *o)
{
    if (o == NULL || --o->references > 0)
        return;
    close_pipe(&o->pipes[0]);
    close_pipe(&o->pipes[1]);
    free(o);
}

static void destroy(struct worker *w);

static void close_channel(struct worker *w)
{
    if (w->channel != NULL)
        w->has_missed = channel_was_unread(w->channel);
    channel_free(w->channel);
    w->channel = NULL;
}

static void abandon(struct worker *w);

/* They can no longer be answered. */
static void lose_looks(struct worker *w)
{
    while (!list_is_empty(&w->looks)) {
        struct worker *look = list_entry(w->looks.next, struct worker, look);
        list_remove(&look->look);
        abandon(look);
    }
}

static void gone(struct worker *w, const struct child_end *end)
{
    if (w->state == WORKER_GONE || w->is_ending)
        return; /* draining may close the channel */
    w->is_dead = w->is_ending = true;
    /* The process may have sent a last reply before it died; the owner may free the worker while that is
     * delivered. */
    if (w->channel != NULL)
        channel_drain(w->channel);
    w->is_ending = false;
    if (w->is_doomed) {
        destroy(w);
        return;
    }
    w->state = WORKER_GONE;
    drain_output(w);
    close_channel(w);
    struct child_end known = *end;
    if (w->why_ended.code != ERR_NONE && (!end->is_known || end->signal == SIGKILL))
        snprintf(known.why, sizeof known.why, "%.*s",
                 (int)utf8_floor(w->why_ended.message, strlen(w->why_ended.message), sizeof known.why - 1),
                 w->why_ended.message);
    lose_looks(w);
    w->events.on_gone(w->events.arg, &known);
}

static void on_child_exit(void *arg, const struct child_end *end)
{
    gone(arg, end);
}

/* The process could not be made: the worker is gone, without an exit status. */
static void abandon(struct worker *w)
{
    static const struct child_end unknown = {0};
    gone(w, &unknown);
}

static void on_closed(void *arg, const struct err *why)
{
    struct worker *w = arg;
    if (why != NULL) {
        log_warning("killing process %d, because %s", (int)worker_pid(w), why->message);
        w->why_ended = *why;
    }
    close_channel(w);
    if (w->child == NULL)
        abandon(w); /* it ended before its pid was reported */
    else
        child_kill_tree(w->child);
}

/*
 * The agent sends one if the server has given up waiting for a copy. The user's code can write to the channel
 * without end: then the process is ended, with one line in the log.
 */
static void on_stray_message(struct worker *w)
{
    if (w->strays++ == 0)
        log_warning("process %d sent a message that answers no request", (int)worker_pid(w));
    if (w->strays <= MOST_STRAYS || w->channel == NULL)
        return;
    struct err flood;
    err_set(&flood, ERR_SYNTAX, "it sent more than %d messages that answer no request", MOST_STRAYS);
    on_closed(w, &flood);
}

static void note_output(struct worker *w, const struct sexp *message)
{
    size_t len;
    const char *text = sexp_string(sexp_get(message, 2, "text"), &len);
    enum worker_stream stream =
        sexp_integer(sexp_get(message, 2, "stream"), 1) == 2 ? WORKER_STDERR : WORKER_STDOUT;
    if (text != NULL)
        w->events.on_output(w->events.arg, stream, text, len);
}

static struct worker *find_look(const struct worker *w, int64_t id)
{
    list_each(struct worker, look, &w->looks, look)
        if (look->call_id == id)
            return look;
    return NULL;
}

/* What a look-up in a process of ours says by a channel of its own. Its owner may free it in each event. */
static void answer_look(struct worker *w, int id, struct sexp_document *document)
{
    struct worker *look = find_look(w, id);
    look->state = WORKER_BUSY;
    look->events.on_ready(look->events.arg, sexp_root(document));
    look = find_look(w, id);
    if (look == NULL) {
        sexp_document_free(document);
        return;
    }
    look->state = WORKER_IDLE;
    look->events.on_reply(look->events.arg, document);
    look = find_look(w, id);
    if (look != NULL)
        abandon(look);
}

static void on_message(void *arg, struct sexp_document *document)
{
    struct worker *w = arg;
    if (w->is_doomed) {
        sexp_document_free(document);
        return;
    }
    const struct sexp *message = sexp_root(document);
    int64_t id = sexp_integer(sexp_nth(message, 0), -1);
    const struct sexp *what = sexp_nth(message, 1);
    if (w->awaited_count > 0 && id == w->awaited[0]) {
        drain_output(w);
        memmove(w->awaited, w->awaited + 1, --w->awaited_count * sizeof w->awaited[0]);
        w->state = w->awaited_count > 0 ? WORKER_BUSY : WORKER_IDLE;
        w->events.on_reply(w->events.arg, document);
        return;
    }
    if (id > 0 && find_look(w, id) != NULL) {
        answer_look(w, (int)id, document);
        return;
    }
    if (id == 0 && w->state == WORKER_STARTING && w->events.on_ready != NULL &&
        sexp_is_symbol(what, "hello")) {
        worker_begin(w, sexp_integer(sexp_get(message, 2, "pid"), 0));
        w->events.on_ready(w->events.arg, message);
    } else if (id == 0 && sexp_is_symbol(what, "progress")) {
        if (w->events.on_progress != NULL)
            w->events.on_progress(w->events.arg, message);
    } else if (id == 0 && w->events.on_person != NULL && sexp_is_symbol(what, "person")) {
        w->events.on_person(w->events.arg, message);
    } else if (id == 0 && w->outputs == NULL && sexp_is_symbol(what, "output")) {
        note_output(w, message);
    } else if (id == 0 && w->events.on_input != NULL && sexp_is_symbol(what, "input")) {
        drain_output(w);
        w->events.on_input(w->events.arg, sexp_integer(sexp_get(message, 2, "question"), 0));
    } else {
        on_stray_message(w);
    }
    sexp_document_free(document);
}

static void open_pipe(uv_loop_t *loop, struct outputs *o, enum worker_stream stream, int fd)
{
    struct output_pipe *p = &o->pipes[stream];
    *p = (struct output_pipe){.fd = fd, .stream = stream, .outputs = o};
    p->poll = loop_handle_poll(loop, fd, p);
    CHECK(uv_poll_start(p->poll, UV_READABLE, on_output_ready) == 0);
}

static void close_all(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

static struct worker *allocate(uv_loop_t *loop, const struct worker_events *events)
{
    struct worker *w = xcalloc(1, sizeof *w);
    w->loop = loop;
    w->events = *events;
    w->state = WORKER_STARTING;
    w->identity = w->random = random_number();
    list_init(&w->looks);
    list_init(&w->look);
    return w;
}

/* ${fd} and ${outputs} are taken; the process was already counted in ${quota}. */
static struct worker *make(uv_loop_t *loop, struct children *children, struct quota *quota,
                           const struct worker_events *events, int fd, struct outputs *outputs)
{
    struct worker *w = allocate(loop, events);
    w->children = children;
    w->quota = quota;
    w->outputs = outputs;
    struct channel_events channel_events = {.on_message = on_message, .on_closed = on_closed, .arg = w};
    w->channel = channel_new(loop, fd, &frame_agent, &channel_events);
    return w;
}

struct worker *worker_new(uv_loop_t *loop, struct children *children, struct quota *quota,
                          const struct worker_events *events, struct worker_ends *ends, struct err *err)
{
    if (!quota_take(quota, err))
        return NULL;
    int fds[6] = {-1, -1, -1, -1, -1, -1}; /* both ends of channel, output, error */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0 || pipe2(fds + 2, O_CLOEXEC) != 0 ||
        pipe2(fds + 4, O_CLOEXEC) != 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot make the descriptors of a Lisp process");
        close_all(fds, 6);
        quota_give_back(quota);
        return NULL;
    }
    struct outputs *o = xcalloc(1, sizeof *o);
    *o = (struct outputs){.references = 1, .on_output = events->on_output, .arg = events->arg};
    open_pipe(loop, o, WORKER_STDOUT, fds[2]);
    open_pipe(loop, o, WORKER_STDERR, fds[4]);
    *ends = (struct worker_ends){.channel = fds[1], .output = fds[3], .error = fds[5]};
    return make(loop, children, quota, events, fds[0], o);
}

struct worker *worker_new_copy(struct worker *original, const struct worker_events *events, int *channel,
                               struct err *err)
{
    if (!quota_take(original->quota, err))
        return NULL;
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot make the channel of a copy");
        quota_give_back(original->quota);
        return NULL;
    }
    *channel = fds[1];
    original->outputs->references++;
    struct worker *w =
        make(original->loop, original->children, original->quota, events, fds[0], original->outputs);
    w->is_pristine = true;
    return w;
}

struct worker *worker_new_carried(uv_loop_t *loop, const struct worker_events *events,
                                  const struct worker_carrier *carrier)
{
    struct worker *w = allocate(loop, events);
    w->carrier = *carrier;
    return w;
}

void worker_receive(struct worker *w, struct sexp_document *message)
{
    on_message(w, message);
}

void worker_lose(struct worker *w, const struct err *why)
{
    w->why_ended = *why;
    abandon(w);
}

void worker_set_events(struct worker *w, const struct worker_events *events)
{
    w->events = *events;
}

bool worker_spawn(struct worker *w, struct spawn_spec *spec, struct worker_ends *ends, struct err *err)
{
    spec->descriptors[0] = -1;
    spec->descriptors[1] = ends->output;
    spec->descriptors[2] = ends->error;
    spec->descriptors[3] = ends->channel;
    w->child = child_spawn(w->children, spec, on_child_exit, w, err);
    close(ends->channel);
    close(ends->output);
    close(ends->error);
    return w->child != NULL;
}

void worker_begin(struct worker *w, int64_t pid)
{
    if (w->child == NULL && w->state != WORKER_GONE && !worker_is_carried(w) && pid > 1 && pid <= INT32_MAX)
        w->child = child_adopt(w->children, (pid_t)pid, on_child_exit, w);
    if (w->child != NULL)
        child_expendable(w->child, w->is_pristine ? COPY_EXPENDABLE : SESSION_EXPENDABLE);
    else if (w->awaited_count == 0 && w->channel != NULL)
        /* We could neither stop this process nor learn of its end. A look-up, whose answer is awaited from
         * the start, is another matter: a thread of its original's process may answer it. */
        channel_hang_up(w->channel);
    if (w->state == WORKER_STARTING)
        w->state = w->awaited_count > 0 ? WORKER_BUSY : WORKER_IDLE;
}

static void destroy(struct worker *w)
{
    lose_looks(w);
    list_remove(&w->look);
    if (worker_is_carried(w))
        w->carrier.leave(w->carrier.arg);
    /* A snapshot is dropped after almost every evaluation; looking for its children would cost more
     * than everything else. */
    if (w->child != NULL && w->is_pristine)
        child_signal(w->child, SIGKILL);
    child_free(w->child);
    /* Only now: an agent ends when its channel closes, and then its children could no longer be found. */
    channel_free(w->channel);
    outputs_release(w->outputs);
    quota_give_back(w->quota);
    free(w);
}

void worker_free(struct worker *w)
{
    if (w == NULL)
        return;
    w->is_doomed = true;
    if (!w->is_ending)
        destroy(w);
}

static bool is_awaited(const struct worker *w, int id)
{
    for (size_t i = 0; i < w->awaited_count; i++)
        if (w->awaited[i] == id)
            return true;
    return false;
}

/*
 * Ids must not be guessable: the user's code can write to the channel too, and a forged answer must not fit
 * the next request. Xorshift (Marsaglia 2003), seeded by the kernel. Code that reads the agent's memory can
 * still forge answers for its own process.
 */
static int next_id(struct worker *w)
{
    int id;
    do {
        w->random ^= w->random << 13;
        w->random ^= w->random >> 7;
        w->random ^= w->random << 17;
        id = (int)(w->random >> 33);
    } while (id == 0 || id == w->call_id || is_awaited(w, id));
    return id;
}

/* ${descriptors} are taken. False if the process is dying and will not read it: on_gone follows. */
static bool send_frame(struct worker *w, const struct strbuf *frame, const int *descriptors, size_t count)
{
    if (w->channel != NULL)
        return channel_send(w->channel, frame, descriptors, count);
    if (worker_is_carried(w))
        w->carrier.send(w->carrier.arg, frame->bytes + frame_agent.digits, frame->len - frame_agent.digits);
    close_all(descriptors, count);
    return false;
}

static int send_request(struct worker *w, const struct strbuf *request, const int *descriptors, size_t count)
{
    int id = next_id(w);
    w->awaited[w->awaited_count++] = id;
    struct strbuf frame = {0};
    size_t at = frame_begin(&frame_agent, &frame);
    strbuf_addf(&frame, "(%d ", id);
    strbuf_add(&frame, request->bytes, request->len);
    strbuf_addf(&frame, " :token %d)", id);
    frame_end(&frame_agent, &frame, at);
    w->state = WORKER_BUSY;
    if (!send_frame(w, &frame, descriptors, count) && w->lost_id == 0)
        w->lost_id = id;
    strbuf_fini(&frame);
    return id;
}

int worker_call(struct worker *w, const struct strbuf *request, const int *descriptors, size_t count)
{
    CHECK(w->state == WORKER_IDLE);
    if (w->is_pristine && w->child != NULL)
        child_expendable(w->child, SESSION_EXPENDABLE);
    w->is_pristine = false;
    w->presses = 0;
    return w->call_id = send_request(w, request, descriptors, count);
}

bool worker_fork(struct worker *w, const int *descriptors, size_t count, enum worker_hello hello,
                 struct err *err)
{
    CHECK(w->state == WORKER_IDLE || (w->state == WORKER_BUSY && !is_awaited(w, w->call_id)));
    if (w->awaited_count == MOST_AWAITED) {
        close_all(descriptors, count);
        return err_set(err, ERR_BUSY, "The process does not answer earlier requests for copies.");
    }
    struct strbuf request = {0};
    sexp_write_symbol(&request, "fork");
    if (hello != WORKER_SAYS_HELLO) {
        sexp_write_symbol(&request, hello == WORKER_SILENT ? "silent" : "separate");
        sexp_write_boolean(&request, true);
    }
    send_request(w, &request, descriptors, count);
    strbuf_fini(&request);
    return true;
}

void worker_forget_forks(struct worker *w)
{
    CHECK(!is_awaited(w, w->call_id));
    w->awaited_count = 0;
    if (w->state == WORKER_BUSY)
        w->state = WORKER_IDLE;
}

struct worker *worker_look(struct worker *original, const struct strbuf *request,
                           const struct worker_events *events, struct err *err)
{
    int channel = -1;
    struct worker *look;
    if (worker_is_carried(original)) {
        look = allocate(original->loop, events);
        list_append(&original->looks, &look->look);
    } else {
        look = worker_new_copy(original, events, &channel, err);
    }
    if (look == NULL)
        return NULL;
    look->call_id = look->awaited[look->awaited_count++] = next_id(original);
    struct strbuf frame = {0};
    size_t at = frame_begin(&frame_agent, &frame);
    strbuf_addf(&frame, "(%d :look :request (", look->call_id);
    strbuf_add(&frame, request->bytes, request->len);
    strbuf_adds(&frame, "))");
    frame_end(&frame_agent, &frame, at);
    send_frame(original, &frame, &channel, 1);
    original->looked_id = original->call_id;
    strbuf_fini(&frame);
    if (original->child != NULL && original->state == WORKER_BUSY)
        child_show(original->child, original->call_id);
    return look;
}

void worker_give_input(struct worker *w, int64_t question, const char *text, size_t len)
{
    struct strbuf frame = {0};
    size_t at = frame_begin(&frame_agent, &frame);
    strbuf_addf(&frame, "(0 :input :question %" PRId64, question);
    if (text != NULL) {
        sexp_write_symbol(&frame, "text");
        sexp_write_string(&frame, text, len);
    }
    strbuf_addc(&frame, ')');
    frame_end(&frame_agent, &frame, at);
    send_frame(w, &frame, NULL, 0);
    w->looked_id = w->call_id;
    strbuf_fini(&frame);
    if (w->child != NULL && w->state == WORKER_BUSY)
        child_show(w->child, w->call_id);
}

void worker_end_look(struct worker *original, const struct worker *look)
{
    if (look->child == NULL && original->child != NULL)
        child_interrupt(original->child, look->call_id);
    else if (worker_is_carried(original))
        original->carrier.interrupt(original->carrier.arg, look->call_id, 1);
}

void worker_interrupt(struct worker *w)
{
    if (w->child != NULL && w->state == WORKER_BUSY)
        child_interrupt(w->child, w->call_id);
    else if (worker_is_carried(w) && w->state == WORKER_BUSY)
        w->carrier.interrupt(w->carrier.arg, w->call_id, ++w->presses);
}

void worker_kill(struct worker *w)
{
    if (w->child != NULL)
        child_kill_tree(w->child);
    else
        abandon(w); /* its pid was never reported; an agent whose channel closes ends by itself */
}

bool worker_has_missed(const struct worker *w)
{
    bool is_unanswered = is_awaited(w, w->call_id) && w->looked_id != w->call_id;
    bool is_lost = w->lost_id != 0 && w->lost_id == w->call_id;
    return is_lost || (w->has_missed && is_unanswered);
}

enum worker_state worker_state(const struct worker *w)
{
    return w->state;
}

bool worker_is_alive(const struct worker *w)
{
    return !w->is_dead && (w->channel != NULL || worker_is_carried(w));
}

bool worker_is_carried(const struct worker *w)
{
    return w->carrier.send != NULL;
}

uint64_t worker_identity(const struct worker *w)
{
    return w->identity;
}

pid_t worker_pid(const struct worker *w)
{
    return w->child == NULL ? 0 : child_pid(w->child);
}
