/*
 * The tools as `tools/list` returns them.
 */
#ifndef CALLS_LISTING_H
#define CALLS_LISTING_H

#include <jansson.h>

#include "base/errors.h"
#include "base/strbuf.h"
#include "calls/tool.h"

struct tool_table;

/*
 * listing_of(table, spec, err):
 * The members of a `tools/list` result's `tools` array.
 *
 * spec        names separated by commas; "core", "standard" and "full", once sets, are all tools; NULL: all
 * Returns     given array; NULL with ${err} set if a name is unknown
 */
json_t *listing_of(const struct tool_table *table, const char *spec, struct err *err);

/* listing_has(table, spec, tool): whether it contains ${tool}. ${spec} was checked. */
bool listing_has(const struct tool_table *table, const char *spec, const struct tool *tool);

/* listing_add_text(table, spec, text, len, out): append ${text} without the sentences that name a tool which
 * the listing lacks. A sentence ends with its line, or with a full stop or a semicolon before a blank; a line
 * of which nothing is left goes, too. */
void listing_add_text(const struct tool_table *table, const char *spec, const char *text, size_t len,
                      struct strbuf *out);

/* listing_prune_hints(table, spec, text): do the same with each section [Hint] of a reply, whose other
 * headings have been told from the program's text (section_mark()). */
void listing_prune_hints(const struct tool_table *table, const char *spec, struct strbuf *text);

/* listing_is_former_set(spec): is it the name of a former set? */
bool listing_is_former_set(const char *spec);

/* listing_of_tool(tool): a member of such an array for a tool that a session defines; given. */
json_t *listing_of_tool(const struct tool *tool);

#endif
