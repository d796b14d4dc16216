/*
 * The mechanics of one HTTP request and its response. server.c decides what a request means and calls
 * exchange_answer() or exchange_stream(), immediately or later.
 *
 * States      reading -> waiting -> answered or streaming -> gone; refused on the way
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "http/mhd.h"
#include "http/stream.h"

struct daemon;
struct link;
struct post;
struct principal;
struct trimmed;

enum exchange_state {
    EXCHANGE_READING,
    EXCHANGE_WAITING,
    EXCHANGE_ANSWERED,
    EXCHANGE_STREAMING,
    EXCHANGE_LOST /* the connection is to be closed without an answer */
};

enum exchange_method { EXCHANGE_POST, EXCHANGE_GET, EXCHANGE_DELETE, EXCHANGE_OPTIONS, EXCHANGE_OTHER };

/* A response whose body, if any, is an error or a short text. */
struct http_reply {
    unsigned status;
    int code;                   /* of the JSON-RPC error in the body; 0: the body is the message as text */
    const char *message;        /* borrowed, must outlive the exchange; NULL with code 0: no body */
    const char *header, *value; /* an additional header; NULL: none */
};

struct http_file;

struct exchange {
    struct list node; /* in the server's */
    struct daemon *daemon;
    struct MHD_Connection *connection;
    struct link *link;
    enum exchange_state state;
    enum exchange_method method;
    bool is_suspended;
    bool must_close; /* close the connection after the answer: where this request ends is uncertain */
    bool takes_json, takes_events, is_modern;
    const char *line, *version; /* the first line and its end, in the library's buffer */
    const char *path;
    const struct http_file *file; /* the one at that path; NULL: none */
    struct http_reply refusal;    /* status 0: none so far */
    struct principal *principal;  /* the principal it belongs to */
    const char *cors_origin;      /* the origin that may read the answer; NULL: none */
    struct trimmed *trimmed;      /* copies of header values */
    struct strbuf body;
    size_t drained, accounted;
    bool has_begun; /* a stream of events is being sent */
    size_t unread;  /* bytes of its answer or events that are counted while the client has not read them */
    uint64_t began_ms;
    unsigned status;
    struct strbuf answer;
    char session_id[72]; /* to be sent to the client; "" for none */
    struct post *post;   /* the message in its body, until that is answered */
    struct stream *stream;
    const char *stream_type; /* its media type; static */
    struct stream_reader reader;
    void *arg; /* for the use of who serves it */
};

/* The callbacks that serve requests, and the requests; the argument of the daemon (daemon_arg()) is one of
 * these. Their owner initializes the list. */
struct exchange_events {
    /* the headers have arrived: set ${refusal}, or let the request pass */
    void (*on_headers)(void *arg, struct exchange *e);
    /* the whole request has arrived and was not refused: answer or stream, now or later */
    void (*on_request)(void *arg, struct exchange *e);
    /* the client has gone before or during the answer; while a POST waits, it may have closed only its
     * half of the connection */
    void (*on_gone)(void *arg, struct exchange *e);
    /* it is freed after this call */
    void (*on_end)(void *arg, struct exchange *e);
    const char *cors_headers; /* for answers that a page of another origin may read */
    void *arg;
    struct list exchanges; /* all of them */
    size_t body_bytes;     /* the memory that all bodies occupy */
    size_t answer_bytes;   /* and all answers and events that clients have not read */
};

/* exchange_handle(arg, connection, url, method, version, bytes, len, context), exchange_completed(arg,
 * connection, context, code): the callbacks to give to the library; ${arg} is the daemon. */
enum MHD_Result exchange_handle(void *arg, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *bytes, size_t *len,
                                void **context);
void exchange_completed(void *arg, struct MHD_Connection *connection, void **context,
                        enum MHD_RequestTerminationCode code);

/* exchange_header(e, name): the header's value without surrounding blanks; borrowed until the exchange ends;
 * NULL if it was not sent. exchange_header_count(e, name): how often it was sent. */
const char *exchange_header(struct exchange *e, const char *name);
size_t exchange_header_count(const struct exchange *e, const char *name);

/*
 * exchange_each_header(e, each, arg):
 * Call ${each} for the headers in the order in which they were sent, until it returns false.
 *
 * Returns     false: ${each} has returned false
 */
typedef bool exchange_header_visitor(void *arg, const char *name, const char *value);
bool exchange_each_header(const struct exchange *e, exchange_header_visitor *each, void *arg);

/* exchange_head_is_plain(e): whether the headers are what a proxy sees, too: no line was folded, none had a
 * NUL, and each ended in CR LF. Only before the body is read. */
bool exchange_head_is_plain(const struct exchange *e);

/* exchange_refuse_with(e, reply): answer with ${reply}, in any state up to EXCHANGE_WAITING. Always false.
 * exchange_refuse(e, status, message): the same with the JSON-RPC error of an invalid request. */
bool exchange_refuse_with(struct exchange *e, const struct http_reply *reply);
bool exchange_refuse(struct exchange *e, unsigned status, const char *message);

/* exchange_answer(e, status, bytes, len): answer with a JSON body; ${len} 0: without a body. */
void exchange_answer(struct exchange *e, unsigned status, const char *bytes, size_t len);

/* exchange_stream(e, stream): answer with the events of ${stream} until it ends. exchange_pass(e, status,
 * type, stream): the same for bytes of another media type, which is static. */
void exchange_stream(struct exchange *e, struct stream *stream);
void exchange_pass(struct exchange *e, unsigned status, const char *type, struct stream *stream);

/* exchange_drop(e): close the connection. */
void exchange_drop(struct exchange *e);

#endif
