/*
 * The tools: every one in its order, and finding one by name.
 */
#ifndef CALLS_REGISTRY_H
#define CALLS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/tool.h"

/* A row of tools.def. Those without a family, which come last, are found by name, but are in no list and no
 * document for agents: docs/view.md describes them. */
struct tool_row {
    const char *family;
    const struct tool *tool;
};

/* A former name, and the argument that it stands for. */
struct tool_former {
    const char *name;
    const struct tool *tool;
    const char *argument, *value; /* NULL: none */
};

/* Whoever looks a tool up says in which table: that of the server is in src/tools, above this folder. */
struct tool_table {
    const struct tool_row *rows;
    size_t count;
    const struct tool_former *formers;
    size_t former_count;
};

/* registry_count(table), registry_at(table, n): every listed tool in the order of the table, whose row n has
 * its family. */
size_t registry_count(const struct tool_table *table);
const struct tool *registry_at(const struct tool_table *table, size_t n);

/*
 * registry_find(table, name):
 * The tool of that name: case does not matter, `_` stands for `-`, a leading `ns/` or `ns.` is dropped,
 * except for `user.`, and former names are accepted.
 *
 * Returns     NULL if there is none. registry_nearest(table, name) then gives the most similar name, NULL if
 * none is near.
 */
const struct tool *registry_find(const struct tool_table *table, const char *name);
const char *registry_nearest(const struct tool_table *table, const char *name);

/* registry_former(table, name): the former name that ${name} spells, as for registry_find(); NULL if it is
 * none. */
const struct tool_former *registry_former(const struct tool_table *table, const char *name);

/* registry_offers(toolbox, tool): its clients may call ${tool}. ${toolbox} is NULL for tools that need none.
 */
bool registry_offers(const struct toolbox *toolbox, const struct tool *tool);

#endif
