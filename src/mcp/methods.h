/*
 * The table of the methods that the server has.
 */
#ifndef MCP_METHODS_H
#define MCP_METHODS_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/method.h"

/* method_find(name, len): the row; NULL if there is none. */
const struct method *method_find(const char *name, size_t len);

/* method_nearest(name, is_modern): the name of the most similar method of that era; NULL if none is
 * similar. */
const char *method_nearest(const char *name, bool is_modern);

#endif
