/*
 * Positions as people count them, in lines and characters; and characters made printable. Internal to
 * src/scan.
 */
#ifndef SCAN_SCAN_PLACE_H
#define SCAN_SCAN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A place in the text. Lines and columns count from 1, columns in characters; line 0 means nowhere. */
struct scan_place {
    size_t offset;
    size_t line;
    size_t column;
};

/*
 * scan_place_of(text, len, offset):
 * The line and column of the byte at ${offset}, which may be ${len}.
 *
 * text        borrowed
 */
struct scan_place scan_place_of(const char *text, size_t len, size_t offset);

/*
 * scan_place_char_len(text, len, offset):
 * The length in bytes of the character that starts at ${offset} < ${len}: 1 to 4, and 1 for a byte that is
 * not UTF-8.
 *
 * text        borrowed
 */
size_t scan_place_char_len(const char *text, size_t len, size_t offset);

/*
 * scan_place_copy_char(text, len, offset, out):
 * Copy the character at ${offset} < ${len} so that it fits on one line: white space as a space, control
 * characters and bytes that are not UTF-8 as `?`. Adds no NUL.
 *
 * text        borrowed
 * out         borrowed; room for 4 bytes
 * Returns     bytes written
 */
size_t scan_place_copy_char(const char *text, size_t len, size_t offset, char *out);

/*
 * scan_place_is_column_one(text, offset), scan_place_starts_its_line(text, offset):
 * Whether the byte at ${offset} is the first of its line; whether only white space precedes it on its line.
 *
 * text        borrowed
 */
bool scan_place_is_column_one(const char *text, size_t offset);
bool scan_place_starts_its_line(const char *text, size_t offset);

/*
 * scan_place_indentation(text, len, offset):
 * The column, from 0 and as an editor shows it (tabs at multiples of 8), of the byte at ${offset}, which
 * starts its line.
 *
 * text        borrowed
 */
size_t scan_place_indentation(const char *text, size_t len, size_t offset);

/* A position that moves forward and knows its column as an editor shows it, from 0. */
struct scan_place_ruler {
    size_t at;
    size_t column;
};

/*
 * scan_place_ruler_move(ruler, text, len, offset):
 * Move ${ruler} forward to ${offset}. Moving, rather than measuring each position anew, keeps the total
 * linear.
 *
 * text        borrowed
 * Returns     the column there
 */
size_t scan_place_ruler_move(struct scan_place_ruler *ruler, const char *text, size_t len, size_t offset);

#endif
