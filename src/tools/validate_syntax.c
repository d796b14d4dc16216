/*
 * validate-syntax: checks that the parentheses match, and finds the one that matches the one at a position.
 * The text is scanned; nothing is read or run.
 */
#include "scan/scan.h"
#include "tools/call.h"

static void run(struct tool_call *call)
{
    size_t len;
    const char *code = call_string(call, "code", &len);
    size_t line = (size_t)call_integer(call, "line", 0), column = (size_t)call_integer(call, "column", 1);
    char text[SCAN_EXPLAIN_SIZE];
    if (line > 0) {
        struct scan_match match = scan_match_paren(code, len, line, column);
        scan_match_explain(&match, line, column, code, len, text, sizeof text);
    } else {
        struct scan_result result = scan_text(code, len);
        scan_explain(&result, code, len, text, sizeof text);
    }
    call_answer(call, false, "%s", text);
}

#define POSITION_ARGUMENT(its_name, its_description)                                                         \
    {                                                                                                        \
        .name = its_name, .is_rare = true, .type = ARGUMENT_INTEGER, .minimum = 1, .maximum = 100000000,     \
        .description = its_description                                                                       \
    }

const struct tool tool_validate_syntax = {
    .name = "validate-syntax",
    .title = "Validate syntax",
    .description =
        "Check the parentheses of text without reading or running it. Reports the form that is not "
        "closed, or with line and column the partner of a parenthesis.",
    .search_hint = "parentheses, brackets",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = true,
    .arguments =
        {
            {.name = "code", .type = ARGUMENT_STRING, .is_required = true, .description = "Text to check."},
            POSITION_ARGUMENT("line", "Line of a parenthesis, counted from 1."),
            POSITION_ARGUMENT("column", "Its column in characters, counted from 1; default: 1."),
        },
    .run = run,
};
