/*
 * Responsible for the two pages of the monitor. They contain numbers but no names, so anybody who can
 * reach the address may read them.
 */
#include "http/monitor.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "http/daemon.h"
#include "http/header_values.h"
#include "http/limits.h"
#include "http/link.h"
#include "session/session_host.h"

struct monitor {
    const struct session_host *host;
    struct mhd mhd;
    struct daemon *daemon;
    bool is_ending;
};

static enum MHD_Result answer(struct monitor *m, struct MHD_Connection *connection, unsigned status,
                              const char *type, struct strbuf *body)
{
    size_t len = body->len;
    struct MHD_Response *response =
        m->mhd.create_response_from_buffer(len, strbuf_steal(body, NULL), MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    m->mhd.add_response_header(response, "Content-Type", type);
    m->mhd.add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        m->mhd.add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = m->mhd.queue_response(connection, status, response);
    m->mhd.destroy_response(response);
    return result;
}

/* A web page must not read the metrics: neither one of another origin, nor one whose name was made to resolve
 * to this machine. */
static bool is_from_a_page(const struct monitor *m, const struct daemon *d, struct MHD_Connection *connection)
{
    const char *origin = m->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    const char *host = m->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    struct header_part name, port;
    if (origin != NULL && !origin_is_loopback(origin))
        return true;
    if (host == NULL || !daemon_listener(d)->is_loopback || daemon_listener(d)->is_unix)
        return false;
    return !host_split(host, &name, &port) || !(host_is_loopback(name) || host_is_address(name));
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **context)
{
    struct daemon *d = arg;
    struct monitor *m = daemon_arg(d);
    if (*context == NULL) {
        /* The headers have arrived. A request is answered once the library knows that it has no body. */
        link_expect(daemon_link(d, connection), HTTP_BODY_MS);
        *context = m;
        return MHD_YES;
    }
    if (*upload_len > 0) {
        *upload_len = 0;
        return MHD_YES;
    }
    struct strbuf body = {0};
    if (is_from_a_page(m, d, connection)) {
        strbuf_adds(&body, "this Host or Origin is not allowed\n");
        return answer(m, connection, MHD_HTTP_FORBIDDEN, "text/plain", &body);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        strbuf_adds(&body, "only GET and HEAD are served here\n");
        return answer(m, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", &body);
    }
    if (strcmp(url, "/metrics") == 0) {
        session_host_print_metrics(m->host, &body);
        return answer(m, connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &body);
    }
    if (strcmp(url, "/healthz") == 0) {
        strbuf_adds(&body, m->is_ending ? "ending\n" : "ok\n");
        return answer(m, connection, m->is_ending ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, "text/plain",
                      &body);
    }
    strbuf_adds(&body, "there are /metrics and /healthz\n");
    return answer(m, connection, MHD_HTTP_NOT_FOUND, "text/plain", &body);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode how)
{
    if (*context != NULL)
        link_expect(daemon_link(arg, connection), HTTP_HEADERS_MS);
    *context = NULL;
}

struct monitor *monitor_new(uv_loop_t *loop, const char *address, const struct session_host *host,
                            struct err *err)
{
    struct monitor *m = xcalloc(1, sizeof *m);
    m->host = host;
    if (!mhd_load(&m->mhd, err)) {
        free(m);
        return NULL;
    }
    const struct daemon_options daemon_options = {
        .loop = loop, .mhd = &m->mhd, .handle = on_request, .on_completed = on_completed, .arg = m};
    struct listener listener;
    if (listener_open(&listener, address, err))
        m->daemon = daemon_new(&listener, &daemon_options, err);
    if (m->daemon == NULL) {
        mhd_unload(&m->mhd);
        free(m);
        return NULL;
    }
    log_info("metrics at http://%s/metrics", daemon_listener(m->daemon)->name);
    return m;
}

void monitor_free(struct monitor *m)
{
    if (m == NULL)
        return;
    daemon_free(m->daemon);
    mhd_unload(&m->mhd);
    free(m);
}

void monitor_ending(struct monitor *m)
{
    if (m != NULL)
        m->is_ending = true;
}
