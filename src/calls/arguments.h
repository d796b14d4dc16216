/*
 * The arguments of a call: their check, before the tool runs, and what the tool reads.
 */
#ifndef CALLS_ARGUMENTS_H
#define CALLS_ARGUMENTS_H

#include <jansson.h>

#include "base/errors.h"
#include "calls/tool.h"

struct tool_call;
struct tool_former;

/* The words for each enum argument_type: in a JSON schema, where user code declares a tool, and in a message
 * about a wrong value. */
extern const struct argument_words {
    const char *schema, *declared, *expected;
} argument_words[ARGUMENT_STRING_LIST + 1];

/*
 * arguments_check(tool, former, given, err):
 * Check what a client sent against the tool's declaration: canonical names (case, `_` for `-`; form,
 * expression, input for code; system-name for system), numbers given as strings taken as numbers, required
 * ones present, types, bounds and choices.
 *
 * former      the former name by which it was called, whose argument is added unless the client sent it or
 *             one that excludes it; NULL: it was called by its own name
 * given       borrowed; an object, or NULL for none. A member that is null counts as absent, an optional one
 *             that is no text also if it is "null" or "".
 * Returns     given: a new object with canonical names; NULL with ${err} set to one sentence that names the
 *             argument, what was expected, and the nearest right name (ERR_INVALID)
 */
json_t *arguments_check(const struct tool *tool, const struct tool_former *former, const json_t *given,
                        struct err *err);

/* arguments_is_nothing(value): is it null, "null" or ""? For an optional argument that is no text, these
 * count as absent. */
bool arguments_is_nothing(const json_t *value);

/* arguments_is_bounded(a): are there a minimum and a maximum? */
bool arguments_is_bounded(const struct tool_argument *a);

/* arguments_may_have(call, name): whether its tool has an argument of that name. */
bool arguments_may_have(const struct tool_call *call, const char *name);

/* arguments_is(call, name, value): whether its argument of that name was given and is ${value}. */
bool arguments_is(const struct tool_call *call, const char *name, const char *value);

/* arguments_has(call, name), arguments_string(call, name, len), arguments_number(call, name, fallback),
 * arguments_integer(call, name, fallback), arguments_boolean(call, name): the checked arguments; ${fallback},
 * NULL or false if absent. Strings are borrowed from the call and may contain NULs. */
bool arguments_has(const struct tool_call *call, const char *name);
const char *arguments_string(const struct tool_call *call, const char *name, size_t *len);
double arguments_number(const struct tool_call *call, const char *name, double fallback);
int64_t arguments_integer(const struct tool_call *call, const char *name, int64_t fallback);
bool arguments_boolean(const struct tool_call *call, const char *name);

/* arguments_session_name(call): the name of its session, whether that exists or not. arguments_session(call):
 * the session, NULL if it does not exist. Both borrowed. */
const char *arguments_session_name(const struct tool_call *call);
struct session *arguments_session(const struct tool_call *call);

/* arguments_timeout_ms(call): the argument timeout in milliseconds; 0 if absent, -1 for none. */
int arguments_timeout_ms(const struct tool_call *call);

#endif
