/*
 * Responsible for wiring: the order in which parts are made and ended, and which callback leads where.
 */
#include "app/server.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "app/toolboxes.h"
#include "base/log.h"
#include "base/runtime_directory.h"
#include "events/audit.h"
#include "http/monitor.h"
#include "http/owner_socket.h"
#include "http/server.h"
#include "lisp/confinement.h"
#include "lisp/zygotes.h"
#include "mcp/calls.h"
#include "mcp/client.h"
#include "mcp/connection.h"
#include "mcp/transport_stdio.h"
#include "options/options.h"
#include "proc/child.h"
#include "proc/control_groups.h"
#include "proc/guardian.h"
#include "report/report.h"
#include "session/session_host.h"
#include "session/store/leases.h"
#include "tools/table.h"
#include "view/page_files.h"

struct server {
    uv_loop_t *loop;
    struct children *children;
    struct guardian *guardian;
    struct control_groups *groups; /* NULL: none */
    struct audit *audit;           /* NULL: none */
    struct zygotes *zygotes;
    struct leases *leases; /* NULL: none */
    struct session_host *host;
    struct toolboxes *toolboxes;
    struct client *connection;         /* NULL: no client on standard input and output */
    struct transport_stdio *transport; /* the same */
    struct http_server *http;          /* NULL: no HTTP */
    struct owner_socket *owner_socket; /* NULL: none */
    struct monitor *monitor;           /* NULL: no metrics over HTTP */
    uv_signal_t signals[4];
    /* The Lisps' working directory; the client's first root replaces it. All who borrow it read it when a
     * Lisp starts or a file is edited. NULL or the option's, if no client is asked. */
    const char *directory;
    char root[PATH_MAX];
    bool is_attached; /* the first Lisp that is used is another one */
    bool is_input_over, is_output_lost;
    bool is_ending;
};

static void on_saved(void *arg)
{
    uv_stop(((struct server *)arg)->loop);
}

static void on_owner_socket_closed(void *arg)
{
    struct server *server = arg;
    server->owner_socket = NULL;
    /* What runs keeps its session from being saved, for ever if it has no time limit. At the end of the input
     * everything has got one, and its answers are awaited. */
    if (!server->is_input_over || server->is_output_lost)
        session_host_stop_everything(server->host);
    toolboxes_save(server->toolboxes, on_saved, server);
}

static void on_http_closed(void *arg)
{
    struct server *server = arg;
    server->http = NULL;
    owner_socket_close(server->owner_socket, on_owner_socket_closed, server);
}

/* End what is in progress over HTTP, then save sessions. A second signal exits immediately. */
static void finish(struct server *server)
{
    if (server->is_ending)
        return;
    server->is_ending = true;
    monitor_ending(server->monitor);
    toolboxes_announce(server->toolboxes);
    if (server->connection != NULL)
        connection_end(server->connection);
    http_server_close(server->http, on_http_closed, server);
}

/* The server answers every request that it has read before it exits. Each call has a time limit by then, so
 * this ends. */
static void stop_if_done(void *arg)
{
    struct server *server = arg;
    if (server->is_input_over && requests_are_idle(server->connection))
        finish(server);
}

static void on_end(void *arg)
{
    struct server *server = arg;
    server->is_input_over = true;
    session_host_limit_everything(server->host);
    calls_no_more_input(server->connection);
    stop_if_done(server);
}

static void on_handshake(void *arg)
{
    if (!((struct server *)arg)->is_attached)
        zygote_warm(zygotes_own(((struct server *)arg)->zygotes));
}

static void on_stdio_handshake(void *arg)
{
    struct server *server = arg;
    on_handshake(server);
    owner_socket_describe(server->owner_socket, server->connection->author.name, server->directory);
}

/* Without --directory, and with standard input and output only: a client of HTTP may be elsewhere. What a
 * sandbox contains is chosen before the client has named its project. */
static bool asks_roots(const struct options *options)
{
    return options->zygote.directory == NULL && options->http.addresses[0] == NULL &&
           options->confinement.mode == CONFINEMENT_OFF;
}

static void on_root(void *arg, const char *path)
{
    struct server *server = arg;
    if (zygotes_are_absent(server->zygotes))
        snprintf(server->root, sizeof server->root, "%s", path);
    else
        log_warning("the client named its root %s after the first Lisp was started in %s", path,
                    server->root);
}

static void on_broken(void *arg)
{
    struct server *server = arg;
    log_info("standard output is closed");
    server->is_output_lost = true; /* no client can read the answers now */
    finish(server);
}

static void on_signal(uv_signal_t *handle, int signal)
{
    struct server *server = handle->data;
    if (signal == SIGUSR1) {
        session_host_log_status(server->host);
        return;
    }
    if (signal == SIGHUP && (server->http != NULL || server->audit != NULL)) {
        http_server_reload(server->http);
        owner_socket_reload(server->owner_socket);
        if (server->audit != NULL)
            audit_reopen(server->audit);
        return;
    }
    if (signal == SIGHUP && server->is_ending)
        return; /* the kernel and the shell both send it when a terminal is closed */
    log_info("signal %d: shutting down", signal);
    if (server->is_ending)
        uv_stop(server->loop);
    else
        finish(server);
}

static void on_http_gone(void *arg)
{
    uv_stop(arg);
}

static bool begin_stdio(struct server *server, const struct options *options, struct err *err)
{
    if (isatty(STDIN_FILENO))
        log_warning("standard input is a terminal, where a client is expected; --help shows the options");
    server->transport = transport_stdio_new(server->loop, err);
    if (server->transport == NULL)
        return false;
    struct connection_options connection = options->http.connection;
    connection.toolbox = toolboxes_get(server->toolboxes, "");
    connection.shows_log = true;
    connection.send = transport_stdio_send;
    connection.send_arg = server->transport;
    connection.on_idle = stop_if_done;
    connection.on_handshake = on_stdio_handshake;
    connection.on_root = server->directory == server->root ? on_root : NULL;
    connection.arg = server;
    server->connection = connection_new(&connection);
    transport_stdio_begin(server->transport,
                          &(struct transport_stdio_events){.client = server->connection,
                                                           .on_message = connection_message,
                                                           .on_oversized = connection_oversized,
                                                           .on_end = on_end,
                                                           .on_broken = on_broken,
                                                           .arg = server});
    return true;
}

static struct toolbox *toolbox_of(void *arg, const char *principal)
{
    return toolboxes_get(((struct server *)arg)->toolboxes, principal);
}

static struct http_server_options http_options(struct server *server, const struct options *options)
{
    struct http_server_options all = options->http;
    all.loop = server->loop;
    all.toolbox = toolbox_of;
    all.on_handshake = on_handshake;
    all.arg = server;
    return all;
}

static bool begin_http(struct server *server, const struct options *options, struct err *err)
{
    struct http_server_options all = http_options(server, options);
    if (options->view == VIEW_PAGE) {
        all.rules.files = page_files;
        all.rules.file_count = page_file_count;
    }
    server->http = http_server_new(&all, err);
    return server->http != NULL;
}

/* The owner sees the sessions of the client on standard input and output or, if there is none, those of the
 * principal whose token it gives. A server without this socket serves its clients all the same. */
static void begin_owner_socket(struct server *server, const struct options *options)
{
    struct http_server_options all = http_options(server, options);
    struct err err;
    all.tls_certificate_file = all.tls_key_file = NULL;
    if (server->connection != NULL)
        all.principals = (struct principals_options){0};
    server->owner_socket = owner_socket_new(&all, server->directory, &err);
    if (server->owner_socket == NULL)
        log_warning("cl-mcp-server view will not find this server: %s", err.message);
}

static void watch_signals(struct server *server, const struct options *options)
{
    const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
    struct sigaction hangup;
    /* Its terminal is closed, as a rule; but not for a server under nohup(1). */
    bool takes_hangup = options->http.addresses[0] != NULL || server->audit != NULL ||
                        (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN);
    for (size_t i = 0; i < (takes_hangup ? 4 : 3); i++) {
        uv_signal_init(server->loop, &server->signals[i]);
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
}

static bool begin(struct server *server, const struct options *options, struct confinements *confinements,
                  struct err *err)
{
    struct zygote_options zygote_options = options->zygote;
    zygote_options.directory = server->directory;
    zygote_options.environment_mark = guardian_mark(server->guardian);
    zygote_options.kind.heap_mib = limits_int(&options->limits, LIMIT_MAX_HEAP);
    zygote_options.kind.confinement = confinements_own(confinements);
    if (options->audit_file != NULL &&
        (server->audit = audit_open(options->audit_file, options->redacts, err)) == NULL)
        return false;
    /* Only servers with a name share their sessions. */
    if (options->http.node != NULL && options->is_persistent &&
        (server->leases = leases_new(server->loop, options->state_directory, options->http.node, err)) ==
            NULL)
        return false;
    server->zygotes = zygotes_new(server->loop, server->children, &zygote_options);
    server->host = session_host_new(&(struct session_host_options){
        .wording = &report_wording,
        .loop = server->loop,
        .zygotes = server->zygotes,
        .limits = &options->limits,
        .most_sessions = options->most_sessions,
        .most_processes = options->most_processes,
        .idle_timeout_ms = (uint64_t)options->idle_timeout_s * 1000,
        .image_directory = options->state_directory,
        .confinements = confinements,
        .groups = server->groups,
        .leases = server->leases,
        .redacts = options->redacts,
        .sends_secret = options->sends_secret,
        .announces = options->announces,
        .only_looks = options->is_attach_read_only,
        .lock_grace_s = options->lock_grace_s,
    });
    server->toolboxes = toolboxes_new(&(struct toolboxes_options){
        .loop = server->loop,
        .host = server->host,
        .common = {.zygotes = server->zygotes,
                   .directory = server->directory,
                   .confinements = confinements,
                   .loads_code = options->zygote.loads[0] != NULL || options->zygote.preloads[0] != NULL,
                   .audit = server->audit,
                   .attach = options->attach,
                   .only_looks = options->is_attach_read_only,
                   .may_attach = options->http.addresses[0] == NULL || options->allows_attach,
                   .redacts = options->redacts,
                   .tools = &tool_table,
                   .listing = options->http.connection.listing,
                   .is_persistent = options->is_persistent},
        .state_directory = options->state_directory,
        .save_every_s = options->save_every_s,
        .most_sessions = options->principal_sessions,
        .most_processes = options->principal_processes,
    });
    watch_signals(server, options); /* before anything listens: who can connect may also send a signal */
    if (options->metrics_address != NULL &&
        (server->monitor = monitor_new(server->loop, options->metrics_address, server->host, err)) == NULL)
        return false;
    bool has_http = options->http.addresses[0] != NULL;
    if (has_http && !begin_http(server, options, err))
        return false;
    const char *open_address = has_http ? http_server_open_address(server->http) : NULL;
    if (open_address != NULL && !confinements_refuse_network(confinements, open_address, err))
        return false;
    if ((options->wants_stdio || !has_http) && !begin_stdio(server, options, err))
        return false;
    if (options->view != VIEW_OFF)
        begin_owner_socket(server, options);
    return true;
}

/* The group comes first, so that all that the server starts is in it. */
static bool begin_processes(struct server *server, const struct options *options, struct err *err)
{
    if (options->has_control_groups && (server->groups = control_groups_new(err)) == NULL)
        return false;
    server->children = children_new(server->loop, err);
    server->guardian = server->children == NULL ? NULL : guardian_new(server->loop, err);
    return server->guardian != NULL;
}

/* A further signal would stop the loop while something is being closed. With the last handle for it closed,
 * libuv restores the default action, which ends the server; so this thread holds the signal back until it is
 * ignored. Holding it back alone is not enough: the threads of libuv's pool would take it. */
static void ignore_signals(struct server *server)
{
    for (size_t i = 0; i < 4; i++) {
        int number = server->signals[i].signum;
        sigset_t held;
        if (server->signals[i].data == NULL)
            continue;
        sigemptyset(&held);
        sigaddset(&held, number);
        pthread_sigmask(SIG_BLOCK, &held, NULL);
        uv_close((uv_handle_t *)&server->signals[i], NULL);
        signal(number, SIG_IGN);
    }
}

static void end(struct server *server)
{
    ignore_signals(server);
    if (server->http != NULL) {
        http_server_close(server->http, on_http_gone, server->loop);
        uv_run(server->loop, UV_RUN_DEFAULT);
    }
    if (server->owner_socket != NULL) {
        owner_socket_close(server->owner_socket, on_http_gone, server->loop);
        uv_run(server->loop, UV_RUN_DEFAULT);
    }
    connection_free(server->connection);
    transport_stdio_free(server->transport);
    monitor_free(server->monitor);
    toolboxes_free(server->toolboxes);
    session_host_free(server->host);
    leases_free(server->leases);
    zygotes_free(server->zygotes);
    guardian_free(server->guardian);
    children_free(server->children);
    control_groups_free(server->groups);
    audit_free(server->audit);
    uv_run(server->loop, UV_RUN_DEFAULT);
}

static struct confinements *new_confinements(const struct options *options, const char *directory,
                                             const char *const *kept, struct err *err)
{
    struct confinements_options all = options->confinement;
    all.lisp = options->zygote.lisp;
    all.directory = directory;
    all.state_directory = options->state_directory;
    all.user_init = options->zygote.user_init;
    all.loads = options->zygote.loads;
    all.kept = kept;
    return confinements_new(&all, err);
}

struct kept {
    char runtime[3][PATH_MAX];
    const char *paths[9 + OPTIONS_MOST_REPEATED]; /* ends with NULL */
};

/* What no sandboxed Lisp may reach. With a socket or its directory, it could have a person or a client act in
 * another server than the one that they mean. */
static void list_kept(const struct options *options, struct kept *list)
{
    const char **kept = list->paths;
    const char *const all[] = {options->http.principals.token_file,
                               options->http.principals.access_tokens.keys_file, options->http.tls_key_file,
                               options->audit_file, options->state_directory};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] != NULL)
            *kept++ = all[i];
    for (size_t i = 0; options->http.addresses[i] != NULL; i++)
        if (strncmp(options->http.addresses[i], "unix:", 5) == 0)
            *kept++ = options->http.addresses[i] + 5;
    for (size_t n = 0; n < 3 && runtime_directory_anywhere(n, list->runtime[n], PATH_MAX); n++)
        *kept++ = list->runtime[n];
}

int server_run(const struct options *options)
{
    struct server server = {.loop = uv_default_loop()};
    struct err err = {0};
    struct kept kept = {.paths = {NULL}};
    list_kept(options, &kept);
    server.directory = options->zygote.directory;
    server.is_attached = options->attach != NULL;
    if (asks_roots(options) && getcwd(server.root, sizeof server.root) != NULL)
        server.directory = server.root;
    struct confinements *confinements = NULL;
    bool has_begun = begin_processes(&server, options, &err) &&
                     (confinements = new_confinements(options, server.directory, kept.paths, &err)) != NULL &&
                     begin(&server, options, confinements, &err);
    if (has_begun)
        uv_run(server.loop, UV_RUN_DEFAULT);
    end(&server);
    confinements_free(confinements);
    if (!has_begun)
        log_error("%s", err.message);
    uv_loop_close(server.loop);
    return has_begun ? 0 : 1;
}
