/*
 * One message that arrived by POST, and the response to it: JSON, 202, or a stream if other messages
 * precede the answer.
 *
 * A post is freed when it is finished. A request of 2026-07-28 ends with its client's connection. An older
 * one does not: its messages go into the stream, for a client that reconnects.
 */
#ifndef HTTP_POST_H
#define HTTP_POST_H

#include "mcp/transport.h"

struct client;
struct exchange;
struct http_session;

/*
 * post_deliver(e, connection, session):
 * Hand the body of ${e} to ${connection}; the exchange is answered immediately or later.
 *
 * session     owner of the connection; NULL: requests of 2026-07-28. A session that is not published yet is
 *             published if the message completes its handshake; otherwise the caller frees it afterwards
 */
void post_deliver(struct exchange *e, struct client *connection, struct http_session *session);

/* post_lost(e): the client has gone. */
void post_lost(struct exchange *e);

/* post_end_all(session, status, message): answer all posts in progress in ${session}; call it before
 * the session is freed. */
void post_end_all(struct http_session *session, unsigned status, const char *message);

/* post_on_send(arg, message), post_on_over(arg, origin): for struct connection_options; ${arg} is the
 * session, or NULL. */
void post_on_send(void *arg, const struct transport_message *message);
void post_on_over(void *arg, struct transport_origin *origin);

#endif
