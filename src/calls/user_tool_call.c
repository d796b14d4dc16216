/*
 * Calling a tool that a session defines: an ordinary evaluation of that session. user_tools.c has checked and
 * assembled its arguments.
 */
#include <stdio.h>
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "calls/user_tools.h"
#include "wire/sexp.h"

/* The value of an argument in the form that the agent takes, where numbers are texts, or as a Lisp form. */
static void write_value(struct strbuf *out, const json_t *value, bool is_code)
{
    char number[64];
    if (json_is_string(value)) {
        sexp_write_string(out, json_string_value(value), json_string_length(value));
    } else if (json_is_array(value)) {
        strbuf_adds(out, is_code ? " '(" : " (");
        for (size_t i = 0; i < json_array_size(value); i++)
            write_value(out, json_array_get(value, i), is_code);
        strbuf_addc(out, ')');
    } else if (json_is_number(value)) {
        if (json_is_integer(value))
            snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        else
            snprintf(number, sizeof number, "%.17g", json_real_value(value));
        char *exponent = strchr(number, 'e');
        if (is_code && exponent != NULL)
            *exponent = 'd';
        const char *suffix = is_code && json_is_real(value) && exponent == NULL ? "d0" : "";
        strbuf_addf(out, is_code ? " %s%s" : " \"%s%s\"", number, suffix);
    } else {
        sexp_write_boolean(out, json_is_true(value));
    }
}

static void write_request(struct tool_call *call, struct strbuf *code)
{
    struct strbuf *request = &call->request;
    const char *key;
    json_t *value;
    call_write_string_as(call, "name", "tool");
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    sexp_write_symbol(request, "arguments");
    sexp_write_open(request);
    strbuf_addf(code, "(cl-mcp:call-tool \"%s\"", arguments_string(call, "tool", NULL));
    json_object_foreach(json_object_get(call->arguments, "arguments"), key, value) {
        sexp_write_open(request);
        sexp_write_string(request, key, strlen(key));
        write_value(request, value, false);
        sexp_write_close(request);
        strbuf_addf(code, " :%s", key);
        write_value(code, value, true);
    }
    sexp_write_close(request);
    strbuf_adds(code, ")");
}

static void run(struct tool_call *call, struct session *s)
{
    struct strbuf code = {0};
    write_request(call, &code);
    call_evaluate(call, s, strbuf_string(&code), code.len, call_report);
    strbuf_fini(&code);
}

const struct tool tool_user = {
    .name = "user",
    .title = "Tool of a session",
    .description = "Runs the tools that sessions define.",
    RUNS_CODE,
    .operation = "call-tool",
    .run_in = run,
};
