/*
 * How much HTTP clients may take, all in one place.
 */
#ifndef HTTP_LIMITS_H
#define HTTP_LIMITS_H

/* Connections that are served, where the system lets us have twice as many descriptors; the next ones are
 * told 503, and behind those nobody is accepted until one goes. */
#define HTTP_MOST_CONNECTIONS 1024
#define HTTP_SPARE_CONNECTIONS 64

/* A request's line and headers, and the answer's: what a connection may occupy in the library. */
#define HTTP_CONNECTION_BYTES (32u << 10)

/* What the bodies of all requests being read may occupy; one may have TRANSPORT_MAX_MESSAGE. */
#define HTTP_MOST_BODY_BYTES (256u << 20)

/* A body behind a refusal is read this far, so that the client gets to read the answer. */
#define HTTP_DRAINED_BYTES (256u << 10)

/* How long a connection may wait for its next request's headers, and how long a body may take: so long, and a
 * second for each so many bytes. Nothing may stand still for longer than the last one. */
#define HTTP_HEADERS_MS 60000
#define HTTP_BODY_MS 30000
#define HTTP_BODY_BYTES_A_SECOND 65536
#define HTTP_STILL_S 60

/* A client that does not read its stream is let go when so much waits for it. */
#define HTTP_MOST_PENDING_BYTES (16u << 20)

/* Comments on a stream on which nothing happens. */
#define HTTP_KEEP_ALIVE_MS 15000

/* Sessions by Mcp-Session-Id: how many a principal has; when there are more, the one that was idle longest
 * makes room if it was for so long. All go after the second time. */
#define HTTP_MOST_SESSIONS 256
#define HTTP_SESSION_MAKES_ROOM_MS (10 * 60 * 1000)
#define HTTP_SESSION_IDLE_MS (24 * 3600 * 1000)

/* Events of a session kept for a client that comes back with Last-Event-ID. */
#define HTTP_MOST_EVENTS 1000
#define HTTP_MOST_EVENT_BYTES (1u << 20)

/* How long the end waits for answers to go out. */
#define HTTP_CLOSE_MS 1000

#endif
