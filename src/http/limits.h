/*
 * Limits on the resources of HTTP clients.
 */
#ifndef HTTP_LIMITS_H
#define HTTP_LIMITS_H

/* Connections that are served, if the system allows twice as many descriptors. The next
 * HTTP_SPARE_CONNECTIONS get 503. Beyond those, none is accepted until one closes. */
#define HTTP_MOST_CONNECTIONS 1024
#define HTTP_SPARE_CONNECTIONS 64

/* Memory of one connection in the library: request line, headers, and the headers of the answer. */
#define HTTP_CONNECTION_BYTES (32u << 10)

/* The same where a page is served to browsers. A browser sends it the cookies that a page on any other port
 * of the same host has set, and the library copies them. */
#define HTTP_PAGE_CONNECTION_BYTES (256u << 10)

/* Memory of all request bodies being read together; one body may have TRANSPORT_MAX_MESSAGE. */
#define HTTP_MOST_BODY_BYTES (256u << 20)

/* The share that one named principal may use, and the share reserved for small bodies, so that a
 * client with unfinished large bodies cannot block others. */
#define HTTP_PRINCIPAL_BODY_BYTES (128u << 20)
#define HTTP_SMALL_BODIES_BYTES (32u << 20)
#define HTTP_SMALL_BODY_BYTES (1u << 20)

/* The body of a refused request is read up to this size, so that the client can read the answer. */
#define HTTP_DRAINED_BYTES (256u << 10)

/* How long a new connection may take to send the headers of its first request, a connection those of its
 * next one, and how long a body may take: this long, plus a second for each HTTP_BODY_BYTES_A_SECOND
 * received. HTTP_STILL_S is the longest pause. */
#define HTTP_FIRST_HEADERS_MS 10000
#define HTTP_HEADERS_MS 60000
#define HTTP_BODY_MS 30000
#define HTTP_BODY_BYTES_A_SECOND 262144
#define HTTP_STILL_S 60

/* Memory of all answers and events that clients have not read yet, and the share of one named principal. A
 * small answer is always sent: the number of connections bounds these. */
#define HTTP_MOST_ANSWER_BYTES (256u << 20)
#define HTTP_PRINCIPAL_ANSWER_BYTES (128u << 20)
#define HTTP_SMALL_ANSWER_BYTES (64u << 10)

/* A client that does not read its stream is disconnected when this much is queued for it. */
#define HTTP_MOST_PENDING_BYTES (16u << 20)

/* How often a comment is sent on an idle stream. */
#define HTTP_KEEP_ALIVE_MS 15000

/* Sessions by Mcp-Session-Id. A principal may have HTTP_MOST_SESSIONS; the next one replaces the session
 * that has been idle longest, if for at least HTTP_SESSION_MAKES_ROOM_MS. A session ends when it has been
 * idle for HTTP_SESSION_IDLE_MS. */
#define HTTP_MOST_SESSIONS 256
#define HTTP_SESSION_MAKES_ROOM_MS (10 * 60 * 1000)
#define HTTP_SESSION_IDLE_MS (24 * 3600 * 1000)

/* Events that a session keeps for a client that reconnects with Last-Event-ID. */
#define HTTP_MOST_EVENTS 1000
#define HTTP_MOST_EVENT_BYTES (1u << 20)

/* How long shutting down waits for answers to be sent. */
#define HTTP_CLOSE_MS 1000

#endif
