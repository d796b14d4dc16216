/*
 * The difference that an edit makes: the hunks of a unified diff.
 */
#ifndef TOOLS_LINE_DIFF_H
#define TOOLS_LINE_DIFF_H

#include <stddef.h>

struct strbuf;

/*
 * line_diff_add(out, before, before_len, after, after_len, most):
 * Append the lines that differ between two texts, with one line around them. Nothing when they are the same.
 *
 * most        about how many bytes of lines to show; the rest is counted
 */
void line_diff_add(struct strbuf *out, const char *before, size_t before_len, const char *after,
                   size_t after_len, size_t most);

#endif
