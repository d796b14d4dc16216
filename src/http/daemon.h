/*
 * libmicrohttpd in our loop: one daemon for each place where we listen. Its epoll descriptor is polled, its
 * timeout is a timer of ours, and it has no thread.
 */
#ifndef HTTP_DAEMON_H
#define HTTP_DAEMON_H

#include <stdbool.h>
#include <uv.h>

#include "http/listener.h"
#include "http/mhd.h"

struct daemon;
struct link;

struct daemon_options {
    uv_loop_t *loop;
    const struct mhd *mhd;            /* borrowed, outlives the daemon */
    const char *certificate, *key;    /* PEM, borrowed, outlive it; NULL: no TLS */
    MHD_AccessHandlerCallback handle; /* called with the daemon; the request's own pointer is the handler's */
    MHD_RequestCompletedCallback on_completed;
    void *arg; /* daemon_arg() */
};

/* daemon_new(listener, options, err): the listener's descriptor is taken, also on failure. NULL with ${err}
 * set. */
struct daemon *daemon_new(struct listener *listener, const struct daemon_options *options, struct err *err);

/* daemon_quiesce(d): accept nobody any more. */
void daemon_quiesce(struct daemon *d);

/* daemon_free(d): ends all connections; none may be suspended. Its memory goes with the loop's next turns. */
void daemon_free(struct daemon *d);

/* daemon_wake(d): let the library work in this turn of the loop; after something was resumed. */
void daemon_wake(struct daemon *d);

/* daemon_run(d): let it work now; not from inside one of its callbacks. */
void daemon_run(struct daemon *d);

void *daemon_arg(const struct daemon *d);
const struct mhd *daemon_mhd(const struct daemon *d);
const struct listener *daemon_listener(const struct daemon *d);

/* daemon_is_tls(d). daemon_link(d, connection): our side of one of its connections. */
bool daemon_is_tls(const struct daemon *d);
struct link *daemon_link(const struct daemon *d, struct MHD_Connection *connection);

#endif
