/*
 * Reads the arguments of a call, and redacts its text.
 */
#include "calls/tool_call.h"

#include <string.h>

#include "base/redact.h"
#include "report/section.h"

bool call_takes(const struct tool_call *call, const char *name)
{
    for (const struct tool_argument *a = call->tool->arguments; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

bool call_has(const struct tool_call *call, const char *name)
{
    return json_object_get(call->arguments, name) != NULL;
}

const char *call_string(const struct tool_call *call, const char *name, size_t *len)
{
    json_t *value = json_object_get(call->arguments, name);
    if (len != NULL)
        *len = json_string_length(value);
    return json_string_value(value);
}

bool call_is(const struct tool_call *call, const char *name, const char *value)
{
    const char *given = call_string(call, name, NULL);
    return given != NULL && strcmp(given, value) == 0;
}

double call_number(const struct tool_call *call, const char *name, double fallback)
{
    json_t *value = json_object_get(call->arguments, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

int64_t call_integer(const struct tool_call *call, const char *name, int64_t fallback)
{
    return (int64_t)call_number(call, name, (double)fallback);
}

bool call_boolean(const struct tool_call *call, const char *name)
{
    return json_is_true(json_object_get(call->arguments, name));
}

const char *call_session_name(const struct tool_call *call)
{
    const char *name = call_string(call, "session", NULL);
    return name != NULL ? name : call->default_session;
}

int call_timeout_ms(const struct tool_call *call)
{
    if (!call_has(call, "timeout"))
        return 0;
    double timeout_ms = call_number(call, "timeout", 0) * 1000;
    return timeout_ms == 0 ? -1 : timeout_ms < 1 ? 1 : (int)timeout_ms;
}

void call_redact(const struct tool_call *call, struct strbuf *text)
{
    struct strbuf shown;
    section_mark(text);
    if (!call->toolbox->redacts || call->is_redacted)
        return;
    strbuf_init(&shown, text->limit);
    redact(&shown, strbuf_string(text), text->len);
    strbuf_fini(text);
    *text = shown;
}
