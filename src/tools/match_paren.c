/*
 * match-paren: the partner of a parenthesis. The text is scanned; nothing is read or run.
 */
#include "scan/scan.h"
#include "tools/call.h"

static void run(struct tool_call *call)
{
    size_t len;
    const char *code = call_string(call, "code", &len);
    size_t line = (size_t)call_integer(call, "line", 1), column = (size_t)call_integer(call, "column", 1);
    struct scan_match match = scan_match_paren(code, len, line, column);
    char text[SCAN_EXPLAIN_SIZE];
    scan_match_explain(&match, line, column, code, len, text, sizeof text);
    call_answer(call, false, "%s", text);
}

const struct tool tool_match_paren = {
    .name = "match-paren",
    .title = "Match a parenthesis",
    .description =
        "Find the parenthesis that matches the one at a given position, without reading or running the text.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {
            {.name = "code", .type = ARGUMENT_STRING, .is_required = true, .description = "Text to search."},
            {.name = "line",
             .type = ARGUMENT_INTEGER,
             .is_required = true,
             .minimum = 1,
             .maximum = 100000000,
             .description = "Line of the parenthesis, counted from 1."},
            {.name = "column",
             .type = ARGUMENT_INTEGER,
             .is_required = true,
             .minimum = 1,
             .maximum = 100000000,
             .description = "Column in characters, counted from 1."},
        },
    .run = run,
};
