/*
 * The list of tools: look-up, listing, and the check of arguments before a tool runs.
 */
#ifndef TOOLS_REGISTRY_H
#define TOOLS_REGISTRY_H

#include <jansson.h>
#include <stddef.h>

#include "base/errors.h"
#include "tools/tool.h"

/* registry_count(), registry_at(n): every tool in the order of tools.def. */
size_t registry_count(void);
const struct tool *registry_at(size_t n);

/* registry_family(n): the title of the family that the tool belongs to; the tools of a family are adjacent.
 */
const char *registry_family(size_t n);

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

/*
 * registry_check_arguments(tool, given, err):
 * Check what a client sent against the tool's declaration: canonical names (case, `_` for `-`; form,
 * expression, input for code; system-name for system), numbers given as strings taken as numbers, required
 * ones present, types, bounds and choices.
 *
 * given       borrowed; an object, or NULL for none. A member that is null counts as absent.
 * Returns     given: a new object with canonical names; NULL with ${err} set to one sentence that names the
 *             argument, what was expected, and the nearest right name (ERR_INVALID)
 */
json_t *registry_check_arguments(const struct tool *tool, const json_t *given, struct err *err);

/* registry_add_former(asked, checked): if ${asked} is a tool's former name, add the argument that it
 * stands for to ${checked}, unless it was given. */
void registry_add_former(const char *asked, json_t *checked);

/*
 * registry_listing(spec, err):
 * The members of a `tools/list` result's `tools` array. The sets core and standard show no rare arguments.
 *
 * spec        "core", "standard", "full", or names separated by commas
 * Returns     given array; NULL with ${err} set if a name is unknown
 */
json_t *registry_listing(const char *spec, struct err *err);

/* registry_show(tool): a member of such an array; given. */
json_t *registry_show(const struct tool *tool);

#endif
