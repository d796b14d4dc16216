/*
 * Responsible for running the library from the loop, and for the link of each of its connections.
 */
#include "http/daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "http/limits.h"
#include "http/link.h"
#include "http/slots.h"
#include "proc/loop_handle.h"

struct daemon {
    struct daemon_options options;
    struct listener listener;
    struct MHD_Daemon *library;
    uv_poll_t *poll;
    uv_timer_t *timer;
    uv_idle_t *soon; /* runs the library in the next turn of the loop, after other events */
    struct slots slots;
    unsigned idle_runs; /* consecutive turns that the library asked for */
    bool is_running, must_run_again;
};

/* The library asks to be run again at once while a connection can neither proceed nor be read, for example
 * when a client fills the buffer with a header that never ends. After MOST_IDLE_RUNS consecutive turns,
 * the daemon waits this long before each. */
#define MOST_IDLE_RUNS 32
#define IDLE_RUN_MS 10

void *daemon_arg(const struct daemon *d)
{
    return d->options.arg;
}

const struct mhd *daemon_mhd(const struct daemon *d)
{
    return d->options.mhd;
}

const struct listener *daemon_listener(const struct daemon *d)
{
    return &d->listener;
}

struct link *daemon_link(const struct daemon *d, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        d->options.mhd->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* Whoever connected; what became of that process since does not matter. */
static bool is_of_this_user(int descriptor)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct daemon *d = arg;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        int descriptor =
            d->options.mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        const struct sockaddr *address =
            d->options.mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
        struct link *l = link_new(d->options.loop, descriptor, &d->slots, address);
        link_expect(l, HTTP_FIRST_HEADERS_MS);
        if (d->listener.is_owners && !is_of_this_user(descriptor)) {
            log_warning("another user was turned away from %s", d->listener.name);
            shutdown(descriptor, SHUT_RDWR);
        }
        *context = l;
    } else {
        link_free(*context);
        *context = NULL;
    }
}

static void on_library_says(void *arg, const char *format, va_list arguments)
{
    char text[500];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    vsnprintf(text, sizeof text, format, arguments);
#pragma GCC diagnostic pop
    log_debug("http: %s", text);
}

static void on_timer(uv_timer_t *timer)
{
    daemon_run(timer->data);
}

static void on_soon(uv_idle_t *soon)
{
    uv_idle_stop(soon);
    daemon_run(soon->data);
}

static void set_timer(struct daemon *d)
{
    MHD_UNSIGNED_LONG_LONG ms;
    bool has_timeout = d->options.mhd->get_timeout(d->library, &ms) == MHD_YES;
    uv_timer_stop(d->timer);
    if (d->must_run_again) {
        daemon_wake(d);
    } else if (has_timeout && ms == 0 && ++d->idle_runs < MOST_IDLE_RUNS) {
        daemon_wake(d);
    } else if (has_timeout) {
        uv_timer_start(d->timer, on_timer, ms == 0 ? IDLE_RUN_MS : ms, 0);
    }
}

void daemon_run(struct daemon *d)
{
    CHECK(!d->is_running);
    d->is_running = true;
    d->must_run_again = false;
    d->options.mhd->run(d->library);
    d->is_running = false;
    set_timer(d);
}

void daemon_wake(struct daemon *d)
{
    if (d->is_running)
        d->must_run_again = true;
    else
        uv_idle_start(d->soon, on_soon);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct daemon *d = poll->data;
    d->idle_runs = 0;
    daemon_run(d);
}

/* Paths are compared as sent: a percent-encoded path is a different one. */
static size_t leave_as_it_is(void *arg, struct MHD_Connection *connection, char *text)
{
    return strlen(text);
}

/* The other half of the descriptors is for the Lisp processes. */
static unsigned most_connections(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
        files.rlim_cur / 2 >= HTTP_MOST_CONNECTIONS + HTTP_SPARE_CONNECTIONS)
        return HTTP_MOST_CONNECTIONS;
    return files.rlim_cur / 2 > 2 * HTTP_SPARE_CONNECTIONS
               ? (unsigned)files.rlim_cur / 2 - HTTP_SPARE_CONNECTIONS
               : HTTP_SPARE_CONNECTIONS;
}

/* GnuTLS: TLS 1.2 and 1.3 with forward secrecy and authenticated encryption. */
#define TLS_PRIORITIES                                                                                       \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:+CHACHA20-"       \
    "POLY1305"

static struct MHD_Daemon *start(struct daemon *d)
{
    const struct daemon_options *o = &d->options;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (o->certificate != NULL ? MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)o->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)o->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    return o->mhd->start_daemon(
        flags, 0, NULL, NULL, o->handle, d, MHD_OPTION_EXTERNAL_LOGGER, on_library_says, NULL,
        MHD_OPTION_LISTEN_SOCKET, d->listener.descriptor, MHD_OPTION_NOTIFY_COMPLETED, o->on_completed, d,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, d, MHD_OPTION_CONNECTION_LIMIT,
        d->slots.most + HTTP_SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)(o->serves_page ? HTTP_PAGE_CONNECTION_BYTES : HTTP_CONNECTION_BYTES),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_STILL_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_as_it_is, NULL,
        o->certificate != NULL ? MHD_OPTION_ARRAY : MHD_OPTION_END, tls, MHD_OPTION_END);
}

struct daemon *daemon_new(struct listener *listener, const struct daemon_options *options, struct err *err)
{
    struct daemon *d = xcalloc(1, sizeof *d);
    d->options = *options;
    d->listener = *listener;
    *listener = (struct listener){.descriptor = -1};
    slots_init(&d->slots, most_connections());
    d->library = start(d);
    if (d->library == NULL) {
        err_set(err, ERR_START, "cannot serve HTTP on %s%s", d->listener.name,
                options->certificate != NULL ? ": wrong certificate or key?" : "");
        listener_close(&d->listener);
        free(d);
        return NULL;
    }
    const union MHD_DaemonInfo *info = options->mhd->get_daemon_info(d->library, MHD_DAEMON_INFO_EPOLL_FD);
    d->poll = loop_handle_poll(options->loop, info->epoll_fd, d);
    d->timer = loop_handle_timer(options->loop, d);
    d->soon = loop_handle_idle(options->loop, d);
    uv_poll_start(d->poll, UV_READABLE, on_poll);
    /* The listening socket is watched from the library's first turn on. */
    daemon_wake(d);
    return d;
}

void daemon_quiesce(struct daemon *d)
{
    int descriptor = d->options.mhd->quiesce_daemon(d->library);
    if (descriptor >= 0)
        listener_close(&d->listener);
}

void daemon_free(struct daemon *d)
{
    if (d == NULL)
        return;
    uv_poll_stop(d->poll);
    daemon_quiesce(d); /* the library would close the descriptor, but not remove a socket's file */
    d->options.mhd->stop_daemon(d->library);
    loop_handle_free(d->poll);
    loop_handle_free(d->timer);
    loop_handle_free(d->soon);
    free(d);
}
