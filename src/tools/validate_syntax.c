/*
 * validate-syntax: checks that the parentheses match, and finds the one that matches the one at a position.
 * The text is scanned; nothing is evaluated.
 */
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/syntax.h"
#include "scan/scan_repair.h"

static void run(struct tool_call *call)
{
    struct regular_file file = {.directory = -1};
    struct err err;
    size_t len;
    const char *code = arguments_string(call, "code", &len),
               *path = code == NULL ? arguments_string(call, "path", &len) : NULL;
    size_t line = (size_t)arguments_integer(call, "line", 0),
           column = (size_t)arguments_integer(call, "column", 1);
    struct strbuf text = {0};
    struct session *s;
    if (!call_find_session(call, arguments_session_name(call), &s))
        return;
    if (code == NULL && path == NULL) {
        call_answer(call, true, "Pass either code or path.");
        return;
    }
    if (path != NULL && !syntax_read(call_directory(call), path, len, &file, &err)) {
        call_answer(call, true, "%s. Only files in the working directory are read.", err.message);
        regular_file_fini(&file);
        return;
    }
    if (path != NULL) {
        code = strbuf_string(&file.text);
        len = file.text.len;
    }
    if (line > 0) {
        struct scan_match match = scan_match_paren(code, len, line, column);
        scan_match_explain(&match, line, column, code, len, &text);
    } else {
        struct scan_result result;
        bool is_other_encoding = syntax_add_encoding(&text, code, len);
        if (scan_has_fault(code, len, &result) || !is_other_encoding) {
            strbuf_adds(&text, is_other_encoding ? "\n" : "");
            scan_explain(&result, code, len, &text);
        }
    }
    regular_file_fini(&file);
    call_answer(call, false, "%s", strbuf_string(&text));
    strbuf_fini(&text);
}

#define POSITION_ARGUMENT(its_name) ARGUMENT(its_name, INTEGER, "", .minimum = 1, .maximum = 100000000)

const struct tool tool_validate_syntax = {
    .name = "validate-syntax",
    .title = "Validate syntax",
    .description = "Find unbalanced parentheses in text or a file, without reading it; with line and "
                   "column, the partner of a parenthesis.",
    .is_read_only = true,
    .arguments = {ARGUMENT("code", STRING, ""), ARGUMENT("path", STRING, ""), POSITION_ARGUMENT("line"),
                  POSITION_ARGUMENT("column"), ARGUMENT("session", STRING, "", .names_session = true)},
    .run = run,
};
