/*
 * Whether a request may reach its method: a list of checks of its revision, envelope and headers, and of
 * the connection's free capacity.
 */
#ifndef MCP_ADMISSION_H
#define MCP_ADMISSION_H

#include <stdbool.h>

struct arrival;
struct jsonrpc_message;

/*
 * admission_check(a, message):
 * Decide about the request in ${message}, and fill in ${a}.
 *
 * Returns     true: admitted; false: it was answered with an error
 * Source      MCP 2025-11-25, lifecycle; MCP 2026-07-28, request metadata
 */
bool admission_check(struct arrival *a, const struct jsonrpc_message *message);

#endif
