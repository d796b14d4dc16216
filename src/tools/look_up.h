/*
 * What tools share that look into the image: the request, a part of a long list, where something
 * is defined, and a long text.
 */
#ifndef TOOLS_LOOK_UP_H
#define TOOLS_LOOK_UP_H

#include "tools/call.h"

/*
 * look_up(call, session, request, on_outcome):
 * Run an operation that only looks, with a limit that a look-up keeps to unless it hangs on something of the
 * user's.
 *
 * session     call_session(); not NULL
 * request     borrowed
 */
void look_up(struct tool_call *call, struct session *session, const struct strbuf *request,
             call_outcome *on_outcome);

/* look_up_write_range(call, request, limit): the arguments from and limit, or their defaults.
 * look_up_write_flag(call, request, argument, key): a boolean. */
void look_up_write_range(const struct tool_call *call, struct strbuf *request, int limit);
void look_up_write_flag(const struct tool_call *call, struct strbuf *request, const char *argument,
                        const char *key);

/* look_up_add_rest(call, shown, total): a line that says how to see those of ${total} that the reply does not
 * show; nothing if it shows all. */
void look_up_add_rest(struct tool_call *call, size_t shown, size_t total);

/* look_up_add(out, value): a string value, nothing for any other. look_up_add_list(out, list, separator):
 * strings. */
void look_up_add(struct strbuf *out, const struct sexp *value);
void look_up_add_list(struct strbuf *out, const struct sexp *list, const char *separator);

/* look_up_add_words(out, list): keywords as `MACRO, CLASS`. */
void look_up_add_words(struct strbuf *out, const struct sexp *list);

/* look_up_add_place(out, entry, from): where it is defined, of the plist that begins at item ${from}: " at
 * FILE:LINE", " in this session, evaluation 3", or nothing. */
void look_up_add_place(struct strbuf *out, const struct sexp *entry, size_t from);

/* look_up_add_text(call, session, text, len): under the session's max-output limit; what it leaves out is
 * kept for get-output. */
void look_up_add_text(struct tool_call *call, struct session *session, const char *text, size_t len);

#define LOOK_UP_LIMIT 100

#define LIMIT_ARGUMENT                                                                                       \
    {                                                                                                        \
        .name = "limit", .type = ARGUMENT_INTEGER, .minimum = 1, .maximum = 10000,                           \
        .description = "Maximum results."                                                                    \
    }
#define FROM_ARGUMENT                                                                                        \
    {                                                                                                        \
        .name = "from", .type = ARGUMENT_INTEGER, .minimum = 0, .maximum = 1000000,                          \
        .description = "First result; default: 0."                                                           \
    }
#define PACKAGE_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "package", .type = ARGUMENT_STRING, .description = "Package to search."                      \
    }
#define NAME_ARGUMENT                                                                                        \
    {                                                                                                        \
        .name = "name", .type = ARGUMENT_STRING, .is_required = true,                                        \
        .description = "Symbol, with or without package prefix."                                             \
    }

#endif
