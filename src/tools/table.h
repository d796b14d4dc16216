/*
 * The list of tools that registry.c works on. Nobody else reads it.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>

#include "tools/tool.h"

extern const struct tool *const tool_table[];
extern const size_t tool_table_count;

#endif
