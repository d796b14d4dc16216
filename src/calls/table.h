/*
 * The list of tools. registry.h finds one by name.
 */
#ifndef CALLS_TABLE_H
#define CALLS_TABLE_H

#include <stddef.h>

#include "calls/tool.h"

/* A row of tools.def. Those without a family, which come last, are found by name, but are in no list and no
 * document for agents: docs/view.md describes them. */
struct tool_row {
    const char *family;
    const struct tool *tool;
};

extern const struct tool_row tool_table[];
extern const size_t tool_table_count;

/* A former name, and the argument that it stands for. */
struct tool_former {
    const char *name;
    const struct tool *tool;
    const char *argument, *value; /* NULL: none */
};

extern const struct tool_former tool_formers[];
extern const size_t tool_former_count;

#endif
