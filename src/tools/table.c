/*
 * Responsible for the list of tools, made from tools.def. It is a separate file so that tests can use another
 * list.
 */
#include "tools/table.h"

#define FORMER(name, symbol, argument, value)
#define TOOL(family, symbol) extern const struct tool tool_##symbol;
#include "tools/tools.def"
#undef TOOL

static const struct tool_row rows[] = {
#define TOOL(family, symbol) {family, &tool_##symbol},
#include "tools/tools.def"
#undef TOOL
#undef FORMER
};

static const struct tool_former formers[] = {
#define TOOL(family, symbol)
#define FORMER(name, symbol, argument, value) {name, &tool_##symbol, argument, value},
#include "tools/tools.def"
};

const struct tool_table tool_table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .formers = formers,
    .former_count = sizeof formers / sizeof *formers,
};
