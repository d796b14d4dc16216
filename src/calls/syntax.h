/*
 * Lisp text in a file that a call names: reading it, and what is wrong with its parentheses.
 */
#ifndef CALLS_SYNTAX_H
#define CALLS_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/regular_file.h"
#include "base/strbuf.h"

/* syntax_read(directory, path, len, file, err): read a file in ${directory} or below it; as
 * regular_file_read_beneath(). */
bool syntax_read(const char *directory, const char *path, size_t len, struct regular_file *file,
                 struct err *err);

/* syntax_add_encoding(out, text, len): append the first place of ${text} that is not UTF-8; false if there is
 * none. */
bool syntax_add_encoding(struct strbuf *out, const char *text, size_t len);

/* syntax_add_fault(out, directory, path): append where the parentheses of that file are unbalanced; nothing
 * if they are balanced, or it is not in ${directory}. */
void syntax_add_fault(struct strbuf *out, const char *directory, const char *path);

#endif
