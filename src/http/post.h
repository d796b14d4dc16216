/*
 * One message that came by POST, and the way back to whoever sent it: as JSON, as 202, or as a stream when
 * something precedes the answer.
 *
 * A post is freed when it is over. Of a request of 2026-07-28 the client's end is the end too. Of an older
 * one it is not: what is still to come goes into the stream, for a client that comes back for it.
 */
#ifndef HTTP_POST_H
#define HTTP_POST_H

#include "mcp/transport.h"

struct connection;
struct exchange;
struct http_session;

/*
 * post_deliver(e, connection, session):
 * Hand the body of ${e} to ${connection}; the exchange is answered now or later.
 *
 * session     whose connection it is; NULL: requests of 2026-07-28. One that is not published yet is
 * published when the message shook hands; otherwise the caller frees it afterwards.
 */
void post_deliver(struct exchange *e, struct connection *connection, struct http_session *session);

/* post_lost(e): its client is gone. */
void post_lost(struct exchange *e);

/* post_end_all(session): answer what is under way in it with ${status}; before the session is freed. */
void post_end_all(struct http_session *session, unsigned status, const char *message);

/* post_on_send(), post_on_over(): for struct connection_options; their arg is the session, or NULL. */
void post_on_send(void *arg, const struct transport_message *message);
void post_on_over(void *arg, struct transport_origin *origin);

#endif
