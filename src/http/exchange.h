/*
 * The mechanics of one HTTP request and its response. What a request means is decided in server.c, which
 * calls exchange_answer() or exchange_stream(), now or later.
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
    EXCHANGE_LOST /* to be closed without more */
};

enum exchange_method { EXCHANGE_POST, EXCHANGE_GET, EXCHANGE_DELETE, EXCHANGE_OPTIONS, EXCHANGE_OTHER };

/* A response with at most an error in its body. */
struct http_reply {
    unsigned status;
    int code;                   /* of the JSON-RPC error in the body; 0: no body */
    const char *message;        /* of it; borrowed, lives on */
    const char *header, *value; /* one more header; NULL: none */
};

struct exchange {
    struct list node; /* in the server's */
    struct daemon *daemon;
    struct MHD_Connection *connection;
    struct link *link;
    enum exchange_state state;
    enum exchange_method method;
    bool is_suspended;
    bool must_close; /* close the connection after the answer: where this request ends is in doubt */
    bool takes_json, takes_events, is_modern;
    const char *path;
    struct http_reply refusal;   /* status 0: none so far */
    struct principal *principal; /* whose it is */
    const char *cors_origin;     /* to be allowed to read the answer; NULL: none */
    struct trimmed *trimmed;     /* copies of headers' values */
    struct strbuf body;
    size_t drained, accounted;
    uint64_t began_ms;
    unsigned status;
    struct strbuf answer;
    char session_id[72]; /* to be given to the client; "" for none */
    struct post *post;   /* the message it brought, until that is over */
    struct stream *stream;
    struct stream_reader reader;
};

/* What serving needs to know; given to exchange_handle() by the daemon's argument. */
struct exchange_events {
    /* the headers have arrived: set ${refusal}, or let the request pass */
    void (*on_headers)(void *arg, struct exchange *e);
    /* the whole request has arrived and was not refused: answer or stream, now or later */
    void (*on_request)(void *arg, struct exchange *e);
    /* the client has gone before the answer or while it was streamed; while a POST waits, the client may have
     * closed only its half of the connection */
    void (*on_gone)(void *arg, struct exchange *e);
    /* it is freed after this */
    void (*on_end)(void *arg, struct exchange *e);
    struct list *exchanges;   /* where they are kept */
    size_t *body_bytes;       /* that all bodies occupy */
    const char *cors_headers; /* for answers that a page may read */
    void *arg;
};

/* exchange_handle(), exchange_completed(): the library's callbacks; daemon_arg() is a struct exchange_events.
 */
MHD_AccessHandlerCallback exchange_handler(void);
MHD_RequestCompletedCallback exchange_completer(void);

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

/* exchange_refuse(e, reply): answer with ${reply}, in any state up to EXCHANGE_WAITING. */
void exchange_refuse(struct exchange *e, const struct http_reply *reply);

/* exchange_answer(e, status, bytes, len): answer with a JSON body; ${len} 0: without a body. */
void exchange_answer(struct exchange *e, unsigned status, const char *bytes, size_t len);

/* exchange_stream(e, stream): answer with ${stream} until it ends. */
void exchange_stream(struct exchange *e, struct stream *stream);

/* exchange_drop(e): close the connection. */
void exchange_drop(struct exchange *e);

#endif
