/*
 * Small pieces of text that people read.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdint.h>

struct strbuf;

/* text_add_grouped(out, n): "1,234,567". */
void text_add_grouped(struct strbuf *out, uint64_t n);

/* text_add_count(out, n, singular): "1 frame", "2 frames". */
void text_add_count(struct strbuf *out, uint64_t n, const char *singular);

/* text_add_indented(out, text, len, indent): each line of ${text} behind ${indent}, lines separated by
 * newlines, no newline at the end. */
void text_add_indented(struct strbuf *out, const char *text, unsigned long len, const char *indent);

#endif
