/*
 * validate-syntax: are the parentheses right? The text is scanned; nothing is read or run.
 */
#include "scan/scan.h"
#include "tools/call.h"

static void run(struct tool_call *call)
{
    size_t len;
    const char *code = call_string(call, "code", &len);
    struct scan_result result = scan_text(code, len);
    char text[SCAN_EXPLAIN_SIZE];
    scan_explain(&result, code, len, text, sizeof text);
    call_answer(call, false, "%s", text);
}

const struct tool tool_validate_syntax = {
    .name = "validate-syntax",
    .title = "Validate syntax",
    .description = "Check whether text consists of complete Lisp forms, without reading or running it. "
                   "Reports a form that is not closed and where it begins.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .arguments =
        {{.name = "code", .type = ARGUMENT_STRING, .is_required = true, .description = "Text to check."}},
    .run = run,
};
