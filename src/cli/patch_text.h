/*
 * The text of an apply_patch: which files it touches, and the content of those it adds. Where a hunk
 * applies is left to the client.
 */
#ifndef CLI_PATCH_TEXT_H
#define CLI_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct patch_text {
    const char *at, *end; /* the text still to be read */
};

struct patch_file {
    const char *path; /* in the patch, ${path_len} bytes, not NUL-terminated */
    size_t path_len;
    bool is_added;         /* ${content} is the whole file */
    struct strbuf content; /* the caller's: initialised before, cleared by each call */
};

/* patch_text_init(patch, text, len): start at the first line. ${text} is borrowed as long as ${patch} is
 * used. */
void patch_text_init(struct patch_text *patch, const char *text, size_t len);

/*
 * patch_text_next(patch, file):
 * The next file that exists after the patch: added, updated, or moved (then its new name).
 *
 * Returns     false if there is none
 * Source      the format that Codex gives its models: lines `*** Add File: PATH` with the content after `+`,
 *             `*** Update File: PATH` perhaps with `*** Move to: PATH`, `*** Delete File: PATH`
 */
bool patch_text_next(struct patch_text *patch, struct patch_file *file);

#endif
