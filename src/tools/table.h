/*
 * The list of tools. Only registry.c, arguments.c and listing.c read it.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>

#include "tools/tool.h"

extern const struct tool *const tool_table[];
extern const size_t tool_table_count;

/* Found by name, but in no list and no document for agents: docs/view.md describes them. */
extern const struct tool *const tool_unlisted[];
extern const size_t tool_unlisted_count;

/* The rows of tools.def: the title of a family, or a tool of the family above it. */
struct tool_row {
    const char *family;
    const struct tool *tool;
};

extern const struct tool_row tool_rows[];
extern const size_t tool_row_count;

/* A former name, and the argument that it stands for. */
struct tool_former {
    const char *name;
    const struct tool *tool;
    const char *argument, *value; /* NULL: none */
};

extern const struct tool_former tool_formers[];
extern const size_t tool_former_count;

#endif
