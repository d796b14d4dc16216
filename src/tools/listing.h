/*
 * The tools as `tools/list` returns them.
 */
#ifndef TOOLS_LISTING_H
#define TOOLS_LISTING_H

#include <jansson.h>

#include "base/errors.h"
#include "tools/tool.h"

/*
 * listing_of(spec, err):
 * The members of a `tools/list` result's `tools` array.
 *
 * spec        names separated by commas; "core", "standard" and "full", which once were sets, are all tools.
 * NULL: all Returns     given array; NULL with ${err} set if a name is unknown
 */
json_t *listing_of(const char *spec, struct err *err);

/* listing_is_former_set(spec): is it the name of a former set? */
bool listing_is_former_set(const char *spec);

/* listing_of_tool(tool): a member of such an array for a tool that a session defines; given. */
json_t *listing_of_tool(const struct tool *tool);

#endif
