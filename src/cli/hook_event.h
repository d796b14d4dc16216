/*
 * The report of a client's hook on standard input: before or after an edit, the files concerned, and
 * their text after the edit.
 */
#ifndef CLI_HOOK_EVENT_H
#define CLI_HOOK_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/* The form of the answer. */
enum hook_dialect {
    HOOK_PRE_TOOL_USE,  /* Claude Code, Codex */
    HOOK_POST_TOOL_USE, /* the same */
    HOOK_BEFORE_TOOL,   /* Gemini CLI */
    HOOK_AFTER_TOOL,    /* the same */
};

/*
 * hook_file(arg, path, before, after):
 * Called for each Common Lisp file that the edit touches.
 *
 * path        borrowed; absolute, or relative to the current directory if the client named none
 * before      borrowed; the text before the edit; NULL if there is no such file, or it is unknown
 * after       borrowed; the text after the edit
 */
typedef void hook_file(void *arg, const char *path, const struct strbuf *before, const struct strbuf *after);

/*
 * hook_event_read(input, len, dialect, on_file, arg, err):
 * Parse what a client wrote, and read the files that it names.
 *
 * ${on_file} is not called for an event or a tool that edits nothing, for a file that is not Lisp, is
 * missing, too large or not a regular file, nor for an edit whose result cannot be known in advance (its
 * old text is not in the file, or a patch that updates). These are not failures: the client's own tool
 * handles them.
 *
 * input       borrowed; any bytes
 * dialect     set if true is returned
 * Returns     false with ${err} set if the input is not the JSON object that a hook gets
 * Errors      ERR_SYNTAX
 * Source      hooks references of Claude Code, Codex and Gemini CLI
 */
bool hook_event_read(const char *input, size_t len, enum hook_dialect *dialect, hook_file *on_file, void *arg,
                     struct err *err);

#endif
