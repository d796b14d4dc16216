/*
 * UTF-8: validating, repairing and cutting text.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/* utf8_valid_prefix(bytes, len): how many leading bytes are well-formed UTF-8 (no surrogates, no overlong
 * forms, at most U+10FFFF). */
size_t utf8_valid_prefix(const char *bytes, size_t len);

/* utf8_is_valid(bytes, len): whether all of it is well-formed. */
bool utf8_is_valid(const char *bytes, size_t len);

/*
 * utf8_repair(out, bytes, len):
 * Append ${bytes} to ${out}, each maximal ill-formed part replaced by U+FFFD (Unicode 15, section 3.9,
 * "U+FFFD substitution of maximal subparts").
 *
 * Returns     false when the cap of ${out} was reached; ${out} then holds as many whole characters as fit
 */
bool utf8_repair(struct strbuf *out, const char *bytes, size_t len);

/* utf8_mask(bytes, len): replace each byte that is not part of a well-formed character by '?'. */
void utf8_mask(char *bytes, size_t len);

/* utf8_continues(c): is it a byte of a character, but not its first one? */
bool utf8_continues(char c);

/* utf8_floor(bytes, len, at): the largest offset <= at that is not inside a character. */
size_t utf8_floor(const char *bytes, size_t len, size_t at);

/* utf8_byte_of(bytes, len, n): the offset of character ${n}, counted from 0; ${len} if there are
 * fewer characters. */
size_t utf8_byte_of(const char *bytes, size_t len, size_t n);

#endif
