/*
 * Monitoring: GET /metrics and GET /healthz at a separate address, without MCP and its tokens.
 */
#ifndef HTTP_MONITOR_H
#define HTTP_MONITOR_H

#include <uv.h>

#include "base/errors.h"

struct monitor;
struct session_host;

/* monitor_new(loop, address, host, err): given, and listening at ${address}, which is as listener_open()
 * takes it, with the metrics of ${host}, borrowed; NULL with ${err} set. monitor_free(m): memory is freed in
 * the loop's next turns. */
struct monitor *monitor_new(uv_loop_t *loop, const char *address, const struct session_host *host,
                            struct err *err);
void monitor_free(struct monitor *m);

/* monitor_ending(m): answer /healthz with 503 from now on, so that load balancers send no new clients. If
 * ${m} is NULL, do nothing. */
void monitor_ending(struct monitor *m);

#endif
