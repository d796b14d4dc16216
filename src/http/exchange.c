/*
 * Responsible for reading a request's body, for waiting without a thread, and for sending the response.
 *
 * While an exchange waits, its connection is suspended: the library ignores it, and the link detects the
 * client's end. An event resumes the connection: the library calls the handler again, which acts on the
 * state.
 */
#include "http/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "http/daemon.h"
#include "http/http_file.h"
#include "http/limits.h"
#include "http/link.h"
#include "http/slots.h"
#include "http/principals.h"
#include "mcp/jsonrpc.h"
#include "mcp/transport.h"

#define BLOCK_BYTES 8192

static struct exchange_events *events_of(const struct exchange *e)
{
    return daemon_arg(e->daemon);
}

struct trimmed {
    struct trimmed *next;
    char text[];
};

/* The library keeps trailing white space, which is not part of a value. */
const char *exchange_header(struct exchange *e, const char *name)
{
    const char *value = daemon_mhd(e->daemon)->lookup_connection_value(e->connection, MHD_HEADER_KIND, name);
    size_t len = value == NULL ? 0 : strlen(value), whole = len;
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    if (len == whole)
        return value;
    struct trimmed *copy = xmalloc(sizeof *copy + len + 1);
    memcpy(copy->text, value, len);
    copy->text[len] = '\0';
    copy->next = e->trimmed;
    e->trimmed = copy;
    return copy->text;
}

struct visit {
    exchange_header_visitor *each;
    void *arg;
    bool is_stopped;
};

static enum MHD_Result visit_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct visit *visit = arg;
    visit->is_stopped = !visit->each(visit->arg, name, value != NULL ? value : "");
    return visit->is_stopped ? MHD_NO : MHD_YES;
}

bool exchange_each_header(const struct exchange *e, exchange_header_visitor *each, void *arg)
{
    struct visit visit = {.each = each, .arg = arg};
    daemon_mhd(e->daemon)->get_connection_values(e->connection, MHD_HEADER_KIND, visit_header, &visit);
    return !visit.is_stopped;
}

/* Where the next header's name must be. */
struct layout {
    const char *at;
    bool is_plain;
};

static bool is_line_end(const char *at)
{
    return at[0] == '\0' && at[1] == '\0';
}

static enum MHD_Result visit_place(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct layout *layout = arg;
    const char *after = name + strlen(name) + 1, *end = value + strlen(value);
    layout->is_plain = name == layout->at && value == after + strspn(after, " \t") && is_line_end(end);
    layout->at = end + 2;
    return layout->is_plain ? MHD_YES : MHD_NO;
}

/*
 * Libraries since 1.0 refuse such headers. Earlier ones do not tell of them, but parse a header in the buffer
 * where it arrived: they write NULs over the colon, over CR and over LF. So a bare LF shows as one NUL at the
 * end of a value, a NUL in the value as something other than two, and a folded line as something between two
 * headers.
 */
bool exchange_head_is_plain(const struct exchange *e)
{
    const struct mhd *mhd = daemon_mhd(e->daemon);
    if (strncmp(mhd->get_version(), "0.", 2) != 0)
        return true;
    size_t len =
        mhd->get_connection_info(e->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    const char *end = e->version + strlen(e->version);
    struct layout layout = {.at = end + 2, .is_plain = is_line_end(end)};
    if (layout.is_plain)
        mhd->get_connection_values(e->connection, MHD_HEADER_KIND, visit_place, &layout);
    return layout.is_plain && is_line_end(layout.at) && layout.at + 2 == e->line + len;
}

struct counted {
    const char *name;
    size_t count;
};

static bool count_header(void *arg, const char *name, const char *value)
{
    struct counted *counted = arg;
    if (strcasecmp(name, counted->name) == 0)
        counted->count++;
    return true;
}

size_t exchange_header_count(const struct exchange *e, const char *name)
{
    struct counted counted = {name, 0};
    exchange_each_header(e, count_header, &counted);
    return counted.count;
}

static void on_link_gone(void *arg)
{
    struct exchange *e = arg;
    if (e->state == EXCHANGE_WAITING)
        events_of(e)->on_gone(events_of(e)->arg, e);
    else
        exchange_drop(e);
}

static void suspend(struct exchange *e)
{
    e->is_suspended = true;
    daemon_mhd(e->daemon)->suspend_connection(e->connection);
    link_watch(e->link, on_link_gone, e);
}

static void resume(struct exchange *e)
{
    if (!e->is_suspended)
        return;
    e->is_suspended = false;
    link_unwatch(e->link);
    daemon_mhd(e->daemon)->resume_connection(e->connection);
    daemon_wake(e->daemon);
}

bool exchange_refuse_with(struct exchange *e, const struct http_reply *reply)
{
    e->refusal = *reply;
    strbuf_clear(&e->answer);
    if (reply->code != 0)
        jsonrpc_add_error(&e->answer, (struct jsonrpc_slice){NULL, 0}, reply->code, reply->message, NULL);
    else if (reply->message != NULL)
        strbuf_adds(&e->answer, reply->message);
    e->status = reply->status;
    e->state = EXCHANGE_ANSWERED;
    resume(e);
    return false;
}

bool exchange_refuse(struct exchange *e, unsigned status, const char *message)
{
    return exchange_refuse_with(
        e, &(struct http_reply){.status = status, .code = JSONRPC_INVALID_REQUEST, .message = message});
}

static void count_unread(struct exchange *e, size_t len)
{
    events_of(e)->answer_bytes += len - e->unread;
    if (e->principal != NULL)
        e->principal->answer_bytes += len - e->unread;
    e->unread = len;
}

/* The client has ${len} bytes of its answer or its events left to read. False: that is beyond the budget. */
static bool may_hold(struct exchange *e, size_t len)
{
    const struct principal *principal = e->principal;
    count_unread(e, len);
    return len <= HTTP_SMALL_ANSWER_BYTES || (events_of(e)->answer_bytes <= HTTP_MOST_ANSWER_BYTES &&
                                              (principal == NULL || principal->name[0] == '\0' ||
                                               principal->answer_bytes <= HTTP_PRINCIPAL_ANSWER_BYTES));
}

/* Not 503: a client must not take this for an invitation to evaluate the same again. */
static void leave_out(struct exchange *e)
{
    count_unread(e, 0);
    exchange_refuse_with(e, &(struct http_reply){.status = MHD_HTTP_INTERNAL_SERVER_ERROR,
                                                 .code = JSONRPC_INTERNAL_ERROR,
                                                 .message = "The request was carried out, but its answer is "
                                                            "left out: too many answers wait to be read"});
}

void exchange_answer(struct exchange *e, unsigned status, const char *bytes, size_t len)
{
    if (!may_hold(e, len)) {
        leave_out(e);
        return;
    }
    strbuf_clear(&e->answer);
    strbuf_add(&e->answer, bytes, len);
    e->status = status;
    e->state = EXCHANGE_ANSWERED;
    resume(e);
}

static void on_readable(void *arg)
{
    struct exchange *e = arg;
    if (may_hold(e, stream_unread(e->stream))) {
        resume(e);
        return;
    }
    stream_detach(e->stream);
    e->stream = NULL;
    if (e->has_begun) {
        count_unread(e, 0);
        exchange_drop(e);
    } else {
        leave_out(e);
    }
}

static void on_overrun(void *arg)
{
    struct exchange *e = arg;
    e->stream = NULL;
    exchange_drop(e);
}

void exchange_pass(struct exchange *e, unsigned status, const char *type, struct stream *stream)
{
    e->stream = stream;
    e->stream_type = type;
    e->reader = (struct stream_reader){.on_readable = on_readable, .on_overrun = on_overrun, .arg = e};
    e->status = status;
    e->state = EXCHANGE_STREAMING;
    stream_attach(stream, &e->reader);
    resume(e);
}

void exchange_stream(struct exchange *e, struct stream *stream)
{
    exchange_pass(e, MHD_HTTP_OK, "text/event-stream", stream);
}

void exchange_drop(struct exchange *e)
{
    e->state = EXCHANGE_LOST;
    resume(e);
}

static void add_header(const struct exchange *e, struct MHD_Response *response, const char *name,
                       const char *value)
{
    daemon_mhd(e->daemon)->add_response_header(response, name, value);
}

static void add_common_headers(const struct exchange *e, struct MHD_Response *response)
{
    if (e->session_id[0] != '\0')
        add_header(e, response, "Mcp-Session-Id", e->session_id);
    if (e->cors_origin != NULL) {
        add_header(e, response, "Access-Control-Allow-Origin", e->cors_origin);
        add_header(e, response, "Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
        add_header(e, response, "Vary", "Origin");
    }
    if (e->must_close || !link_slot(e->link)->is_counted)
        add_header(e, response, "Connection", "close");
    if (e->refusal.header != NULL)
        add_header(e, response, e->refusal.header, e->refusal.value);
}

static enum MHD_Result queue(struct exchange *e, struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    add_common_headers(e, response);
    enum MHD_Result result = daemon_mhd(e->daemon)->queue_response(e->connection, e->status, response);
    daemon_mhd(e->daemon)->destroy_response(response);
    return result;
}

static void add_file_headers(const struct exchange *e, struct MHD_Response *response)
{
    add_header(e, response, "Content-Type", e->file->type);
    add_header(e, response, "Content-Security-Policy", HTTP_FILE_POLICY);
    add_header(e, response, "X-Content-Type-Options", "nosniff");
    add_header(e, response, "Referrer-Policy", "no-referrer");
    add_header(e, response, "Cross-Origin-Resource-Policy", "same-origin");
    /* A page that opened this one could otherwise lead the tab to a copy that asks for the token. */
    add_header(e, response, "Cross-Origin-Opener-Policy", "same-origin");
    add_header(e, response, "Cache-Control", "no-cache");
}

static enum MHD_Result queue_answer(struct exchange *e)
{
    size_t len;
    char *bytes = strbuf_steal(&e->answer, &len);
    struct MHD_Response *response =
        daemon_mhd(e->daemon)->create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(bytes);
    else if (len > 0 && e->file != NULL && e->refusal.status == 0)
        add_file_headers(e, response);
    else if (len > 0)
        add_header(e, response, "Content-Type",
                   e->refusal.status != 0 && e->refusal.code == 0 ? "text/plain; charset=utf-8"
                                                                  : "application/json");
    if (response != NULL && e->method == EXCHANGE_OPTIONS && e->cors_origin != NULL) {
        add_header(e, response, "Access-Control-Allow-Methods", "GET, POST, DELETE");
        add_header(e, response, "Access-Control-Allow-Headers", events_of(e)->cors_headers);
        add_header(e, response, "Access-Control-Max-Age", "600");
    }
    return queue(e, response);
}

static ssize_t read_stream(void *arg, uint64_t position, char *bytes, size_t len)
{
    struct exchange *e = arg;
    if (e->state == EXCHANGE_LOST || e->stream == NULL)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    ssize_t n = stream_take(e->stream, bytes, len);
    count_unread(e, stream_unread(e->stream));
    if (n < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0)
        suspend(e);
    return n;
}

static enum MHD_Result queue_stream(struct exchange *e)
{
    e->has_begun = true;
    struct MHD_Response *response = daemon_mhd(e->daemon)->create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, e, NULL);
    if (response != NULL) {
        add_header(e, response, "Content-Type", e->stream_type);
        add_header(e, response, "Cache-Control", "no-cache");
        add_header(e, response, "X-Accel-Buffering", "no");
    }
    return queue(e, response);
}

static void account(struct exchange *e, size_t len)
{
    e->accounted += len;
    events_of(e)->body_bytes += len;
    if (e->principal != NULL)
        e->principal->body_bytes += len;
}

static void release(struct exchange *e)
{
    events_of(e)->body_bytes -= e->accounted;
    if (e->principal != NULL)
        e->principal->body_bytes -= e->accounted;
    e->accounted = 0;
}

/* Act on the state. Called from the handler when the request has been read. */
static enum MHD_Result go_on(struct exchange *e)
{
    link_expect(e->link, 0);
    switch (e->state) {
    case EXCHANGE_READING:
        e->state = EXCHANGE_WAITING;
        events_of(e)->on_request(events_of(e)->arg, e);
        if (e->body.bytes != NULL) { /* otherwise it was taken, and counts until the exchange ends */
            strbuf_fini(&e->body);
            release(e);
        }
        return go_on(e);
    case EXCHANGE_WAITING:
        suspend(e);
        return MHD_YES;
    case EXCHANGE_ANSWERED:
        return queue_answer(e);
    case EXCHANGE_STREAMING:
        return queue_stream(e);
    case EXCHANGE_LOST:
        break;
    }
    return MHD_NO;
}

static void end(void *arg)
{
    struct exchange *e = arg;
    link_unwatch(e->link);
    link_at_end(e->link, NULL, NULL);
    if (e->stream != NULL)
        stream_detach(e->stream);
    e->stream = NULL;
    events_of(e)->on_end(events_of(e)->arg, e);
    release(e);
    count_unread(e, 0);
    list_remove(&e->node);
    strbuf_fini(&e->body);
    strbuf_fini(&e->answer);
    while (e->trimmed != NULL) {
        struct trimmed *next = e->trimmed->next;
        free(e->trimmed);
        e->trimmed = next;
    }
    free(e);
}

static struct exchange *begin(struct daemon *d, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version)
{
    static const struct {
        const char *name;
        enum exchange_method method;
    } methods[] = {{"POST", EXCHANGE_POST},
                   {"GET", EXCHANGE_GET},
                   {"DELETE", EXCHANGE_DELETE},
                   {"OPTIONS", EXCHANGE_OPTIONS}};
    struct exchange *e = xcalloc(1, sizeof *e);
    e->daemon = d;
    e->connection = connection;
    e->link = daemon_link(d, connection);
    /* libmicrohttpd 1.0 closes a connection without completing its request if a chunk's extension fills the
     * buffer. */
    link_at_end(e->link, end, e);
    e->line = method;
    e->version = version;
    e->path = url;
    e->method = EXCHANGE_OTHER;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(method, methods[i].name) == 0)
            e->method = methods[i].method;
    list_init(&e->node);
    list_append(&events_of(e)->exchanges, &e->node);
    e->body.limit = TRANSPORT_MAX_MESSAGE;
    return e;
}

/* If a response is queued before the body was read, the library closes the connection, and bytes that the
 * client still sends may reset it before the client has read the answer. So a body of ordinary size is read
 * first. */
static enum MHD_Result refuse_headers(struct exchange *e)
{
    const char *length = exchange_header(e, "Content-Length");
    bool is_small =
        length == NULL || (strlen(length) <= 9 && strtoul(length, NULL, 10) <= HTTP_DRAINED_BYTES);
    if (is_small && exchange_header(e, "Transfer-Encoding") == NULL && exchange_header(e, "Expect") == NULL)
        return MHD_YES;
    return queue_answer(e);
}

/* A body gets HTTP_BODY_MS, and a second more for each HTTP_BODY_BYTES_A_SECOND received. */
static void expect_body(struct exchange *e)
{
    uint64_t ends_ms = e->began_ms + HTTP_BODY_MS + e->body.len * 1000 / HTTP_BODY_BYTES_A_SECOND,
             now_ms = uv_hrtime() / 1000000;
    link_expect(e->link, ends_ms > now_ms ? ends_ms - now_ms : 1);
}

static enum MHD_Result take_headers(struct exchange *e)
{
    e->began_ms = uv_hrtime() / 1000000;
    expect_body(e);
    events_of(e)->on_headers(events_of(e)->arg, e);
    return e->state == EXCHANGE_READING ? MHD_YES : refuse_headers(e);
}

static bool has_room(const struct exchange *e, size_t len)
{
    const struct principal *principal = e->principal;
    bool is_small = e->body.len + len <= HTTP_SMALL_BODY_BYTES;
    size_t most = HTTP_MOST_BODY_BYTES - (is_small ? 0 : HTTP_SMALL_BODIES_BYTES);
    if (events_of(e)->body_bytes + len > most)
        return false;
    return principal == NULL || principal->name[0] == '\0' ||
           principal->body_bytes + len <= HTTP_PRINCIPAL_BODY_BYTES;
}

static enum MHD_Result take_body(struct exchange *e, const char *bytes, size_t *len)
{
    if (e->state == EXCHANGE_READING && !has_room(e, *len)) {
        exchange_refuse_with(
            e, &(struct http_reply){.status = 503,
                                    .code = JSONRPC_INTERNAL_ERROR,
                                    .header = "Retry-After",
                                    .value = "1",
                                    .message = "Too many large requests at once: try again later"});
    } else if (e->state == EXCHANGE_READING && !strbuf_add(&e->body, bytes, *len)) {
        exchange_refuse(e, 413, TRANSPORT_TOO_LONG);
    }
    if (e->state == EXCHANGE_READING) {
        account(e, *len);
        expect_body(e);
    } else {
        strbuf_fini(&e->body);
        release(e);
        e->drained += *len;
        if (e->drained > HTTP_DRAINED_BYTES)
            return MHD_NO;
    }
    *len = 0;
    return MHD_YES;
}

enum MHD_Result exchange_handle(void *arg, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *bytes, size_t *len,
                                void **context)
{
    struct exchange *e = *context;
    if (e == NULL) {
        *context = e = begin(arg, connection, url, method, version);
        return take_headers(e);
    }
    return *len > 0 ? take_body(e, bytes, len) : go_on(e);
}

void exchange_completed(void *arg, struct MHD_Connection *connection, void **context,
                        enum MHD_RequestTerminationCode code)
{
    struct exchange *e = *context;
    if (e == NULL)
        return;
    *context = NULL;
    link_expect(e->link, HTTP_HEADERS_MS);
    end(e);
}
