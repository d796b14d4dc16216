/*
 * Completion of the names of symbols, packages and systems in a session. It is a tool, so that it waits its
 * turn and can be cancelled, but it is not listed.
 */
#ifndef TOOLS_COMPLETE_NAMES_H
#define TOOLS_COMPLETE_NAMES_H

#include "calls/tool.h"

#define COMPLETE_NAMES_MOST 100

/*
 * Arguments: type (symbols, packages or systems), prefix, package (of the symbols; default: the session's),
 * session. The result's structured has ${names}, an array of at most COMPLETE_NAMES_MOST, and ${total}, the
 * number of matches.
 */
extern const struct tool tool_complete_names;

#endif
