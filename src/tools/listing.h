/*
 * The tools as `tools/list` returns them.
 */
#ifndef TOOLS_LISTING_H
#define TOOLS_LISTING_H

#include <jansson.h>

#include "base/errors.h"
#include "tools/tool.h"

/* The name of each enum toolset. */
extern const char *const listing_sets[TOOLSET_FULL + 1];

/*
 * listing_of(spec, err):
 * The members of a `tools/list` result's `tools` array. The sets core and standard show no rare arguments.
 *
 * spec        "core", "standard", "full", or names separated by commas
 * Returns     given array; NULL with ${err} set if a name is unknown
 */
json_t *listing_of(const char *spec, struct err *err);

/* listing_of_tool(tool): a member of such an array; given. */
json_t *listing_of_tool(const struct tool *tool);

#endif
