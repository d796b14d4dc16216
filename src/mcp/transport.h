/*
 * What a transport and a connection know of each other: whole messages in and out, nothing about their meaning.
 */
#ifndef MCP_TRANSPORT_H
#define MCP_TRANSPORT_H

#include <stddef.h>

/* A message longer than this is not read: the transport drops it up to its end and says connection_oversized(). */
#define TRANSPORT_MAX_MESSAGE (64u << 20)

/* How a connection sends: one whole message, without a newline in it; borrowed. Called from the loop only. */
typedef void transport_send(void *arg, const char *bytes, size_t len);

#endif
