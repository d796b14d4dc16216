/*
 * The text of an apply_patch: which files it touches, and the content of those it adds. Where a hunk goes is
 * the client's business.
 */
#ifndef CLI_PATCH_TEXT_H
#define CLI_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct patch_text {
    const char *at, *end; /* what is still to be read */
};

struct patch_file {
    const char *path; /* in the patch, ${path_len} bytes, no NUL behind them */
    size_t path_len;
    bool is_added;         /* ${content} is all of it */
    struct strbuf content; /* the caller's: initialised before, cleared by each call */
};

/* patch_text_init(patch, text, len): start at the first line. ${text} is borrowed as long as ${patch} is
 * used. */
void patch_text_init(struct patch_text *patch, const char *text, size_t len);

/*
 * patch_text_next(patch, file):
 * The next file that is there when the patch has been made: added, updated, or moved (then its new name).
 *
 * Returns     false when there is none
 * Source      the format that Codex gives its models: lines `*** Add File: PATH` with the content behind `+`,
 *             `*** Update File: PATH` perhaps with `*** Move to: PATH`, `*** Delete File: PATH`
 */
bool patch_text_next(struct patch_text *patch, struct patch_file *file);

#endif
