/*
 * The table of the server's tools.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include "calls/registry.h"

extern const struct tool_table tool_table;

#endif
