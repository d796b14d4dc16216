/*
 * The state that the sessions of all owners share: the loop, the zygotes, initial limits, and quotas. Each
 * owner has its own collection (sessions.h) and cannot see the others.
 */
#ifndef SESSION_SESSION_HOST_H
#define SESSION_SESSION_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "session/core/host_options.h"

struct session_host;
struct strbuf;

/* session_host_new(options). session_host_free(host): all its collections must have been freed before. */
struct session_host *session_host_new(const struct session_host_options *options);
void session_host_free(struct session_host *host);

/* session_host_plan_saves(host, count): ${count} more sessions will be told to save; for the metrics. */
void session_host_plan_saves(struct session_host *host, size_t count);

/* session_host_limit_everything(host): no client is left to cancel anything. Operations without a time
 * limit get that of their session, present and future ones. */
void session_host_limit_everything(struct session_host *host);

/* session_host_stop_everything(host): stop what runs, as session_stop() does; what waits never begins. */
void session_host_stop_everything(struct session_host *host);

/* session_host_print_metrics(host, out): append all metrics in the format of metrics_print().
 * session_host_log_status(host): log them, and a line for each session. */
void session_host_print_metrics(const struct session_host *host, struct strbuf *out);
void session_host_log_status(const struct session_host *host);

#endif
