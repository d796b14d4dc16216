/*
 * Small pieces of text: written for people, and read.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct strbuf;

/* What the functions below return, for use within one expression: strbuf_addf(out, "%s",
 * text_date(when).text). */
struct short_text {
    char text[64];
};

/* text_grouped(n): "1,234,567". */
struct short_text text_grouped(uint64_t n);

/* text_column(n, width): the same, right-aligned in ${width} columns, at most 60; a negative ${n} counts as
 * 0. text_ms(us, width): microseconds as milliseconds, "1,234.567", right-aligned, too. */
struct short_text text_column(int64_t n, int width);
struct short_text text_ms(int64_t us, int width);

/* text_time(when): "14:03:59Z". text_date(when): "2026-02-28T14:03:59Z". */
struct short_text text_time(time_t when);
struct short_text text_date(time_t when);

/* text_count(n, singular): "1 frame", "2 frames"; ${singular} has at most 30 bytes. */
struct short_text text_count(uint64_t n, const char *singular);

/*
 * text_next_character(text, len, at): the character at ${*at}, or a control sequence of terminals as the
 * character that begins it; ${*at} is moved behind it.
 * text_ends_line(c): is it the end of a line in Unicode, on a terminal or in a programming language?
 * text_moves_cursor(c): after it the cursor of a terminal may be at the beginning of a line.
 */
uint32_t text_next_character(const char *text, size_t len, size_t *at);
bool text_ends_line(uint32_t c);
bool text_moves_cursor(uint32_t c);

/* text_add_hanging(out, text, len, margin): append a program's text inside a row or a sentence of the
 * server. ${margin} follows each end of a line, and each control that may move the cursor to one, so that no
 * line of the text looks like a row or a sentence of the server. */
void text_add_hanging(struct strbuf *out, const char *text, size_t len, const char *margin);

/* text_add_indented(out, text, len, indent): each line of ${text} after ${indent}, lines separated by
 * newlines, no newline at the end. */
void text_add_indented(struct strbuf *out, const char *text, unsigned long len, const char *indent);

/* text_add_line(out, text): ${text} with a blank for each end of a line, as for a comment in a line. */
void text_add_line(struct strbuf *out, const char *text);

/* text_hex_digit(c): the value of a hexadecimal digit; -1 if ${c} is none. */
int text_hex_digit(char c);

/* text_add_base64(out, text, len, last): append the bytes that ${text} encodes in base64 without padding,
 * with ${last} for the digits 62 and 63; false if it is not the one text for any bytes (RFC 4648). */
bool text_add_base64(struct strbuf *out, const char *text, size_t len, const char *last);

/* text_write_base64(out, bytes, len): append ${bytes} in base64 with padding (RFC 4648, section 4). */
void text_write_base64(struct strbuf *out, const unsigned char *bytes, size_t len);

#endif
