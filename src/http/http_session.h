/*
 * A session by Mcp-Session-Id, as the revisions up to 2025-11-25 have it over HTTP: a handshake, the streams
 * that its client reads, what a client that lost its connection may ask for again, and a Lisp session of its
 * own.
 */
#ifndef HTTP_HTTP_SESSION_H
#define HTTP_HTTP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "http/event_log.h"
#include "mcp/transport.h"

#define HTTP_SESSION_ID_BYTES 32
#define HTTP_MOST_NODE_BYTES 32

struct connection;
struct connection_options;
struct principal;
struct stream;

#define HTTP_UNANSWERED_KEPT 32

struct http_session {
    struct list node; /* in its principal's; in no list before the handshake */
    struct principal *principal;
    struct connection *connection; /* owned */
    char id[HTTP_MOST_NODE_BYTES + 1 + HTTP_SESSION_ID_BYTES +
            1];            /* "NODE-" where the server has a name, and what cannot be guessed */
    char lisp_session[24]; /* what its tools use unless told otherwise */
    struct event_log log;
    uint64_t last_stream;   /* the id that was given last; 0 is of what is sent unasked */
    struct stream *unasked; /* owned */
    struct list streams;    /* of its requests, those that have not ended */
    struct list posts;      /* its requests that are under way */
    uint64_t used_ms;       /* when it was last */
    uint64_t
        unanswered[HTTP_UNANSWERED_KEPT]; /* the last streams that ended without an answer, a ring; 0: none */
    size_t unanswered_count;
};

/* http_session_new(principal, node, options): one that is not known by its id yet; ${node} is NULL or what
 * its id begins with; options are copied but for its own part, which is arg, the default session, and that it
 * is initialized once. NULL when the system has no random numbers. */
struct http_session *http_session_new(struct principal *principal, const char *node,
                                      const struct connection_options *options);

/* http_session_publish(s, now_ms): the handshake is done, so it can be found. False when the principal has
 * too many; one that was idle for long makes room. http_session_expire(principal, now_ms): free those that
 * were idle for very long. */
bool http_session_publish(struct http_session *s, uint64_t now_ms);
void http_session_expire(struct principal *principal, uint64_t now_ms);

/* http_session_find(principal, id): borrowed; NULL if it has none of that id. */
struct http_session *http_session_find(const struct principal *principal, const char *id);

/* http_session_is_idle(s): nothing is under way and nobody reads. */
bool http_session_is_idle(const struct http_session *s);

/* http_session_open_stream(s): a stream for a request. */
struct stream *http_session_open_stream(struct http_session *s);

/* http_session_stream(s, id, &is_over): the stream of that id; when it has ended, one to be given to a reader
 * with what is left of it, and to be ended by the caller. NULL: there never was one. */
struct stream *http_session_stream(struct http_session *s, uint64_t id, bool *is_over);

/* http_session_unanswered(s, id): the stream of that id ends without an answer, because its request was
 * cancelled. http_session_is_unanswered(s, id): was that said not long ago? http_session_hold(s, stream):
 * nothing will come on it; it stays until its reader goes, or the session does. */
void http_session_unanswered(struct http_session *s, uint64_t id);
bool http_session_is_unanswered(const struct http_session *s, uint64_t id);
void http_session_hold(struct http_session *s, struct stream *stream);

/* http_session_close_lisp(s): close the Lisp session that is its own. http_session_free(s): end its streams;
 * its posts are over. */
void http_session_close_lisp(struct http_session *s);
void http_session_free(struct http_session *s);

#endif
