/*
 * A second door for who watches the server: GET /metrics and GET /healthz at an address of its own, apart
 * from MCP and its tokens.
 */
#ifndef HTTP_MONITOR_H
#define HTTP_MONITOR_H

#include <uv.h>

#include "base/errors.h"

struct monitor;
struct strbuf;

struct monitor_options {
    uv_loop_t *loop;
    const char *address;                          /* as listener_open() takes it; borrowed */
    void (*print)(void *arg, struct strbuf *out); /* append the figures in Prometheus' text format */
    void *arg;
};

/* monitor_new(options, err): listens when it returns; NULL with ${err} set. monitor_free(m): its memory goes
 * with the loop's next turns. */
struct monitor *monitor_new(const struct monitor_options *options, struct err *err);
void monitor_free(struct monitor *m);

/* monitor_ending(m): from now on /healthz says 503, so that nobody sends new clients. Harmless for NULL. */
void monitor_ending(struct monitor *m);

#endif
