/*
 * Small pieces of text: written for people, and read.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdint.h>
#include <time.h>

struct strbuf;

/* text_add_grouped(out, n): "1,234,567". */
void text_add_grouped(struct strbuf *out, uint64_t n);

/* text_add_column(out, n, width): the same, right-aligned in ${width} columns; a negative ${n} counts as
 * 0. text_add_ms(out, us, width): microseconds as milliseconds, "1,234.567", right-aligned, too. */
void text_add_column(struct strbuf *out, int64_t n, int width);
void text_add_ms(struct strbuf *out, int64_t us, int width);

/* text_add_time(out, when): "14:03:59Z". text_add_date(out, when): "2026-02-28T14:03:59Z". */
void text_add_time(struct strbuf *out, time_t when);
void text_add_date(struct strbuf *out, time_t when);

/* text_add_count(out, n, singular): "1 frame", "2 frames". */
void text_add_count(struct strbuf *out, uint64_t n, const char *singular);

/* text_add_indented(out, text, len, indent): each line of ${text} after ${indent}, lines separated by
 * newlines, no newline at the end. */
void text_add_indented(struct strbuf *out, const char *text, unsigned long len, const char *indent);

/* text_add_line(out, text): ${text} with a blank for each end of a line, as for a comment in a line. */
void text_add_line(struct strbuf *out, const char *text);

/* text_hex_digit(c): the value of a hexadecimal digit; -1 if ${c} is none. */
int text_hex_digit(char c);

#endif
