/*
 * The difference that one edit makes: a unified diff of one hunk.
 */
#ifndef TOOLS_LINE_DIFF_H
#define TOOLS_LINE_DIFF_H

#include <stddef.h>

struct strbuf;

/*
 * line_diff_add(out, name, before, before_len, after, after_len, most):
 * Append the unified diff of two texts that differ in one place, with three lines around it. Nothing when
 * they are the same.
 *
 * name        borrowed; of the file
 * most        about how many bytes of lines to show; the rest is counted
 */
void line_diff_add(struct strbuf *out, const char *name, const char *before, size_t before_len,
                   const char *after, size_t after_len, size_t most);

#endif
