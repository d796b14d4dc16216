/*
 * libmicrohttpd in the server's loop: one daemon per address. The loop polls its epoll descriptor and runs
 * a timer for its timeout; it has no thread.
 */
#ifndef HTTP_DAEMON_H
#define HTTP_DAEMON_H

#include <uv.h>

#include "http/listener.h"
#include "http/mhd.h"

struct daemon;
struct link;

struct daemon_options {
    uv_loop_t *loop;
    const struct mhd *mhd;            /* borrowed, outlives the daemon */
    const char *certificate, *key;    /* PEM, borrowed, outlive it; NULL: no TLS */
    bool serves_page;                 /* to browsers, which send large headers */
    MHD_AccessHandlerCallback handle; /* called with the daemon; the request's own pointer is the handler's */
    MHD_RequestCompletedCallback on_completed;
    void *arg; /* daemon_arg() */
};

/* daemon_new(listener, options, err): the listener's descriptor is taken, also on failure. NULL with ${err}
 * set. */
struct daemon *daemon_new(struct listener *listener, const struct daemon_options *options, struct err *err);

/* daemon_quiesce(d): accept no more connections. */
void daemon_quiesce(struct daemon *d);

/* daemon_free(d): close all connections; none may be suspended. Memory is freed in the loop's next turns. */
void daemon_free(struct daemon *d);

/* daemon_wake(d): run the library in this turn of the loop, after a connection was resumed. */
void daemon_wake(struct daemon *d);

/* daemon_run(d): run the library now; not from inside one of its callbacks. */
void daemon_run(struct daemon *d);

/* daemon_arg(d), daemon_mhd(d), daemon_listener(d): what was passed when it was made. Borrowed. */
void *daemon_arg(const struct daemon *d);
const struct mhd *daemon_mhd(const struct daemon *d);
const struct listener *daemon_listener(const struct daemon *d);

/* daemon_link(d, connection): the server's record of one of its connections. Borrowed. */
struct link *daemon_link(const struct daemon *d, struct MHD_Connection *connection);

#endif
