/*
 * Whether a request of 2026-07-28 agrees with the HTTP headers that repeat parts of it for proxies. Pure.
 *
 * Source      MCP 2026-07-28, transports, Streamable HTTP
 */
#ifndef MCP_REQUEST_HEADERS_H
#define MCP_REQUEST_HEADERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp/jsonrpc.h"

struct method;
struct transport_headers;

/* The member of _meta that every request of 2026-07-28 must have. */
#define META_VERSION "io.modelcontextprotocol/protocolVersion"

/* request_headers_are_modern(headers): they name a revision without a handshake, or an unknown one. False for
 * NULL. */
bool request_headers_are_modern(const struct transport_headers *headers);

/*
 * request_headers_refuse_version(headers, meta, method), request_headers_refuse_request(headers, name,
 * method, params): why a request does not agree with its headers: concerning its revision, and concerning
 * the rest.
 *
 * headers     borrowed; NULL: the transport has none, and nothing is wrong
 * method      the row of ${name}; NULL: there is no such method
 * Returns     a sentence; NULL if they agree
 */
const char *request_headers_refuse_version(const struct transport_headers *headers, const json_t *meta,
                                           struct jsonrpc_slice method);
const char *request_headers_refuse_request(const struct transport_headers *headers, struct jsonrpc_slice name,
                                           const struct method *method, const json_t *params);

/*
 * request_header_says(header, value, len):
 * Whether the header, which may be encoded as "=?base64?...?=", means exactly ${value}.
 */
bool request_header_says(const char *header, const char *value, size_t len);

#endif
