/*
 * Responsible for the socket's file and its description, and for starting HTTP on it at the first connection.
 */
#include "http/owner_socket.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/runtime_directory.h"
#include "base/text.h"
#include "http/listener.h"
#include "proc/loop_handle.h"

#define RANDOM_DIGITS 8

struct owner_socket {
    struct http_server_options options;
    struct listener listener; /* until ${http} has taken it */
    uv_poll_t *poll;
    struct http_server *http; /* NULL: nobody has connected yet */
    time_t started;
    char base[PATH_MAX]; /* the path of both files, without what follows the dot */
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct owner_socket *o = poll->data;
    struct err err;
    loop_handle_free(o->poll);
    o->poll = NULL;
    o->http = http_server_new(&o->options, &err);
    if (o->http != NULL)
        return;
    log_warning("the server cannot be viewed: %s", err.message);
    listener_close(&o->listener);
}

struct owner_socket *owner_socket_new(const struct http_server_options *http, const char *directory,
                                      struct err *err)
{
    static const char *const none[] = {NULL};
    char folder[PATH_MAX], digits[RANDOM_SECRET_DIGITS + 1];
    if (!runtime_directory_make(folder, sizeof folder, err))
        return NULL;
    if (!random_secret(digits)) {
        err_set(err, ERR_SYSTEM, "the system has no random numbers available");
        return NULL;
    }
    struct owner_socket *o = xcalloc(1, sizeof *o);
    o->started = time(NULL);
    snprintf(o->base, sizeof o->base, "%.3900s/%d-%.*s", folder, (int)getpid(), RANDOM_DIGITS, digits);
    char address[PATH_MAX + 20];
    snprintf(address, sizeof address, "unix:%s.sock", o->base);
    if (!listener_open(&o->listener, address, err)) {
        free(o);
        return NULL;
    }
    o->listener.is_owners = true;
    o->options = *http;
    o->options.addresses = none;
    o->options.listener = &o->listener;
    o->poll = loop_handle_poll(o->options.loop, o->listener.descriptor, o);
    uv_poll_start(o->poll, UV_READABLE, on_connection);
    owner_socket_describe(o, "", directory);
    return o;
}

/* A reader sees the old description or the new one, never a part. */
void owner_socket_describe(struct owner_socket *o, const char *client, const char *directory)
{
    char path[PATH_MAX + 20], new_path[PATH_MAX + 20], here[PATH_MAX];
    if (o == NULL)
        return;
    if (directory == NULL)
        directory = getcwd(here, sizeof here);
    const struct principals_options *p = &o->options.principals;
    json_t *description = json_pack("{s:i,s:s,s:s*,s:s,s:b}", "pid", (int)getpid(), "client", client,
                                    "directory", directory, "started", text_date(o->started).text,
                                    "needs-token", p->token_file != NULL || p->access_tokens.issuer != NULL);
    char *text = description == NULL ? NULL : json_dumps(description, JSON_COMPACT);
    snprintf(path, sizeof path, "%s.json", o->base);
    snprintf(new_path, sizeof new_path, "%s.new", o->base);
    struct err err;
    if (text == NULL || !regular_file_write(new_path, text, strlen(text), &err) ||
        rename(new_path, path) != 0)
        log_info("the description %s cannot be written", path);
    free(text);
    json_decref(description);
}

void owner_socket_reload(struct owner_socket *o)
{
    if (o != NULL)
        http_server_reload(o->http);
}

static void on_http_closed(void *arg)
{
    struct owner_socket *o = arg;
    void (*done)(void *arg) = o->on_closed;
    void *done_arg = o->on_closed_arg;
    char path[PATH_MAX + 20];
    snprintf(path, sizeof path, "%s.json", o->base);
    unlink(path);
    loop_handle_free(o->poll);
    listener_close(&o->listener);
    free(o);
    done(done_arg);
}

void owner_socket_close(struct owner_socket *o, void (*done)(void *arg), void *arg)
{
    if (o == NULL) {
        done(arg);
        return;
    }
    o->on_closed = done;
    o->on_closed_arg = arg;
    http_server_close(o->http, on_http_closed, o);
}
