/*
 * The tools: every one in its order, and finding one by name.
 */
#ifndef CALLS_REGISTRY_H
#define CALLS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/tool.h"

struct tool_former;

/* registry_count(), registry_at(n): every listed tool in the order of tools.def; tool_table[n] has
 * its family and its set. */
size_t registry_count(void);
const struct tool *registry_at(size_t n);

/*
 * registry_find(name):
 * The tool of that name: case does not matter, `_` stands for `-`, a leading `ns/` or `ns.` is dropped, and
 * former names are accepted.
 *
 * Returns     NULL if there is none. registry_nearest(name) then gives the most similar name, NULL if none is
 *             near.
 */
const struct tool *registry_find(const char *name);
const char *registry_nearest(const char *name);

/* registry_former(name): the former name that ${name} spells, as for registry_find(); NULL if it is none. */
const struct tool_former *registry_former(const char *name);

/* registry_is_spelling(given, len, name): do these ${len} bytes spell ${name}, which is in lower case with
 * dashes? Case does not matter, `_` stands for `-`. */
bool registry_is_spelling(const char *given, size_t len, const char *name);

#endif
