/*
 * docs/tools.md, generated from the list of tools and their examples.
 */
#ifndef TOOLS_DOCUMENT_H
#define TOOLS_DOCUMENT_H

#include <stdbool.h>

#include "base/errors.h"

struct strbuf;

/*
 * tools_document(out, examples, err):
 * Append the whole page, in Markdown.
 *
 * examples    borrowed; the folder with a file NAME.json for each tool, as tests/e2e/contract.py describes
 *             them
 * Returns     false with ${err} set if one of them cannot be read
 */
bool tools_document(struct strbuf *out, const char *examples, struct err *err);

#endif
