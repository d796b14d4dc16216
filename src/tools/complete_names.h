/*
 * Names of symbols, packages and systems that begin like what was typed, from a session. It is called like a
 * tool, so that it waits its turn and can be cancelled as one, and is in no list.
 */
#ifndef TOOLS_COMPLETE_NAMES_H
#define TOOLS_COMPLETE_NAMES_H

#include "tools/tool.h"

#define COMPLETE_NAMES_MOST 100

/*
 * Arguments: type (symbols, packages or systems), prefix, package (of the symbols; default: the session's),
 * session. The result's structured has ${names}, an array of at most COMPLETE_NAMES_MOST, and ${total}, how
 * many there are.
 */
extern const struct tool tool_complete_names;

#endif
