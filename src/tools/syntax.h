/*
 * The check of the parentheses of a text or a file, and its words.
 */
#ifndef TOOLS_SYNTAX_H
#define TOOLS_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/regular_file.h"
#include "base/strbuf.h"
#include "scan/scan.h"

/* syntax_read(directory, path, len, file, err): read a file in ${directory} or below it; as
 * regular_file_read_beneath(). */
bool syntax_read(const char *directory, const char *path, size_t len, struct regular_file *file,
                 struct err *err);

/* syntax_has_fault(text, len, result): check the text; a definition that contains the next one is a fault,
 * too. */
bool syntax_has_fault(const char *text, size_t len, struct scan_result *result);

/* syntax_add_fault(out, directory, path): append where the parentheses of that file are unbalanced; nothing
 * if they are balanced, or it is not in ${directory}. */
void syntax_add_fault(struct strbuf *out, const char *directory, const char *path);

#endif
