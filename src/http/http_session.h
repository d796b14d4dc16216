/*
 * A session named by Mcp-Session-Id, for the revisions up to 2025-11-25 over HTTP: a handshake, the streams
 * that its client reads, the events that a client can ask for again after losing its connection, and its
 * own Lisp session.
 */
#ifndef HTTP_HTTP_SESSION_H
#define HTTP_HTTP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/random.h"
#include "base/event_log.h"

#define HTTP_MOST_NODE_BYTES 63

struct client;
struct connection_options;
struct principal;
struct stream;

#define HTTP_UNANSWERED_KEPT 32

/* http_session_names(name): could ${name} be the Lisp session that an HTTP session got for itself? */
bool http_session_names(const char *name);

struct http_session {
    struct list node; /* in its principal's; in no list before the handshake */
    struct principal *principal;
    struct client *connection; /* owned */
    char id[HTTP_MOST_NODE_BYTES + 1 + RANDOM_SECRET_DIGITS +
            1];            /* "NODE-" if the server has a name, then a random part */
    char lisp_session[24]; /* the default session of its tools */
    struct event_log log;
    uint64_t last_stream;   /* the last id that was assigned; 0 is the stream of unsolicited messages */
    struct stream *unasked; /* owned */
    struct list streams;    /* of its requests, those that have not ended */
    struct list posts;      /* its requests in progress */
    uint64_t used_ms;       /* when it was last */
    uint64_t
        unanswered[HTTP_UNANSWERED_KEPT]; /* the last streams that ended without an answer, a ring; 0: none */
    size_t unanswered_count;
};

/* http_session_new(principal, node, options): a session that no client can find yet; ${node} is NULL or
 * the prefix of its id. ${options} are copied, except for the session's own members: arg, the default
 * session, and that it is initialized once. NULL if the system has no random numbers. */
struct http_session *http_session_new(struct principal *principal, const char *node,
                                      const struct connection_options *options);

/* http_session_publish(s, now_ms): the handshake is complete: clients can find the session from now on.
 * False: the principal has too many sessions, and none has been idle long enough to be replaced.
 * http_session_expire(principal, now_ms): free sessions that have been idle for HTTP_SESSION_IDLE_MS. */
bool http_session_publish(struct http_session *s, uint64_t now_ms);
void http_session_expire(struct principal *principal, uint64_t now_ms);

/* http_session_find(principal, id): borrowed; NULL if the principal has no session with that id. */
struct http_session *http_session_find(const struct principal *principal, const char *id);

/* http_session_open_stream(s): a new stream for a request. */
struct stream *http_session_open_stream(struct http_session *s);

/* http_session_stream(s, id, &is_over): the stream with that id. If it has ended, a new stream that
 * replays its remaining events to a reader, which the caller ends. NULL: there never was one. */
struct stream *http_session_stream(struct http_session *s, uint64_t id, bool *is_over);

/* http_session_unanswered(s, id): the stream of that id ends without an answer, because its request was
 * cancelled. http_session_is_unanswered(s, id): whether it is one of the last HTTP_UNANSWERED_KEPT such
 * streams. http_session_hold(s, stream): nothing more will be sent on it; it stays until its reader leaves or
 * the session ends. */
void http_session_unanswered(struct http_session *s, uint64_t id);
bool http_session_is_unanswered(const struct http_session *s, uint64_t id);
void http_session_hold(struct http_session *s, struct stream *stream);

/* http_session_close_lisp(s): close its own Lisp session. http_session_free(s): end its streams and free
 * it; none of its posts may be in progress. */
void http_session_close_lisp(struct http_session *s);
void http_session_free(struct http_session *s);

#endif
