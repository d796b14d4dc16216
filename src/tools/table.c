/*
 * Responsible for the list of tools, made from tools.def. It is a separate file so that tests can use another
 * list.
 */
#include "calls/table.h"

#define FORMER(name, symbol, argument, value)
#define TOOL(family, symbol) extern const struct tool tool_##symbol;
#include "tools/tools.def"
#undef TOOL

const struct tool_row tool_table[] = {
#define TOOL(family, symbol) {family, &tool_##symbol},
#include "tools/tools.def"
#undef TOOL
#undef FORMER
};

const size_t tool_table_count = sizeof tool_table / sizeof *tool_table;

const struct tool_former tool_formers[] = {
#define TOOL(family, symbol)
#define FORMER(name, symbol, argument, value) {name, &tool_##symbol, argument, value},
#include "tools/tools.def"
};

const size_t tool_former_count = sizeof tool_formers / sizeof *tool_formers;
