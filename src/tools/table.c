/*
 * Responsible for the list of tools, made from tools.def. It is a separate file so that tests can use another
 * list.
 */
#include "tools/table.h"

#define FAMILY(title)
#define FORMER(name, symbol, argument, value)
#define UNLISTED(symbol) extern const struct tool tool_##symbol;
#define TOOL(symbol) extern const struct tool tool_##symbol;
#include "tools/tools.def"
#undef TOOL
#undef UNLISTED

#define UNLISTED(symbol)
const struct tool *const tool_table[] = {
#define TOOL(symbol) &tool_##symbol,
#include "tools/tools.def"
#undef TOOL
#undef FAMILY
};

const size_t tool_table_count = sizeof tool_table / sizeof *tool_table;

const struct tool_row tool_rows[] = {
#define FAMILY(title) {.family = title},
#define TOOL(symbol) {.tool = &tool_##symbol},
#include "tools/tools.def"
#undef TOOL
#undef FAMILY
#undef FORMER
};

const size_t tool_row_count = sizeof tool_rows / sizeof *tool_rows;

const struct tool_former tool_formers[] = {
#define TOOL(symbol)
#define FAMILY(title)
#define FORMER(its_name, symbol, its_argument, its_value)                                                    \
    {.name = its_name, .tool = &tool_##symbol, .argument = its_argument, .value = its_value},
#include "tools/tools.def"
};

#undef UNLISTED
#undef TOOL
#undef FAMILY
#undef FORMER

const struct tool *const tool_unlisted[] = {
#define TOOL(symbol)
#define FAMILY(title)
#define FORMER(its_name, symbol, its_argument, its_value)
#define UNLISTED(symbol) &tool_##symbol,
#include "tools/tools.def"
};

const size_t tool_unlisted_count = sizeof tool_unlisted / sizeof *tool_unlisted;

const size_t tool_former_count = sizeof tool_formers / sizeof *tool_formers;
