/*
 * docs/tools.md, made from the one list of tools.
 */
#ifndef TOOLS_DOCUMENT_H
#define TOOLS_DOCUMENT_H

struct strbuf;

/* tools_document(out): append the whole page, in Markdown. */
void tools_document(struct strbuf *out);

#endif
