/*
 * JSON whose numbers stay as they are written: 64 bits and a double hold neither 12345678901234567890 nor
 * 1e999, and would write 0.1 with 17 digits.
 */
#ifndef CLI_JSON_NUMBERS_H
#define CLI_JSON_NUMBERS_H

#include <jansson.h>

/*
 * json_numbers_load(text, len, flags, error):
 * Parse JSON. A number becomes a string that only json_numbers_dump() understands.
 *
 * text        borrowed
 * flags       jansson's; JSON_ALLOW_NUL is added
 * error       filled in if the result, given, is NULL
 */
json_t *json_numbers_load(const char *text, size_t len, size_t flags, json_error_t *error);

/* json_numbers_dump(value, flags): the text of such a value, given; ${flags} are jansson's. */
char *json_numbers_dump(const json_t *value, size_t flags);

#endif
