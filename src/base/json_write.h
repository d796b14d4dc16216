/*
 * Writing JSON as text.
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <jansson.h>
#include <stddef.h>

#include "base/strbuf.h"

/* json_write_string(out, bytes, len): append a JSON string with its quotes. Bytes that are not UTF-8 become
 * U+FFFD. */
void json_write_string(struct strbuf *out, const char *bytes, size_t len);

/* json_write_value(out, value): append a jansson value, without white space. json_write_new(out, value): the
 * same for one that is taken. */
void json_write_value(struct strbuf *out, const json_t *value);
void json_write_new(struct strbuf *out, json_t *value);

#endif
