/*
 * What a client's hook reports on standard input: before or after which edit, of which files, and what their
 * text would be.
 */
#ifndef CLI_HOOK_EVENT_H
#define CLI_HOOK_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/* How the answer must look. */
enum hook_dialect {
    HOOK_PRE_TOOL_USE,  /* Claude Code, Codex */
    HOOK_POST_TOOL_USE, /* the same */
    HOOK_BEFORE_TOOL,   /* Gemini CLI */
    HOOK_AFTER_TOOL,    /* the same */
};

/*
 * hook_file(arg, path, before, after):
 * A file of Common Lisp that the edit touches; called for each.
 *
 * path        borrowed; absolute, or relative to the current directory when the client named none
 * before      borrowed; the text before the edit; NULL when there is no such file, or it cannot be known
 * after       borrowed; the text after the edit
 */
typedef void hook_file(void *arg, const char *path, const struct strbuf *before, const struct strbuf *after);

/*
 * hook_event_read(input, len, dialect, on_file, arg, err):
 * Take apart what a client wrote, and read the files it names.
 *
 * An event or a tool that edits nothing, a file that is no Lisp, is not there, too large or no regular file,
 * and an edit whose result is not known beforehand (its old text is not in the file, or a patch that updates)
 * cause no call of ${on_file} and are no failure: the client's own tool deals with them.
 *
 * input       borrowed; any bytes
 * dialect     set when true is returned
 * Returns     false with ${err} set when the input is not the JSON object that a hook gets
 * Errors      ERR_SYNTAX
 * Source      hooks references of Claude Code, Codex and Gemini CLI
 */
bool hook_event_read(const char *input, size_t len, enum hook_dialect *dialect, hook_file *on_file, void *arg,
                     struct err *err);

#endif
