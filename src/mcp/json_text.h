/*
 * A message as text, before jansson reads it: counts its values, mends what JavaScript can write and jansson
 * refuses, and finds the id to answer a message with that jansson does not take. No recursion.
 */
#ifndef MCP_JSON_TEXT_H
#define MCP_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* A tree of more values than this needs too much memory (some 100 bytes each): the caller refuses the
 * message. */
#define JSON_TEXT_MAX_VALUES 1000000

struct json_text {
    size_t value_count; /* number of values at all depths; the members' names are not counted */
    size_t id_at;       /* where the value of the root object's last "id" begins; 0: it has none */
};

/*
 * json_text_mend(bytes, len):
 * Put \ufffd in the place of each escape of a surrogate without its partner. The bytes may be anything;
 * what is returned means something only if they are JSON.
 */
struct json_text json_text_mend(char *bytes, size_t len);

/* json_text_id(text, bytes, len): the value of the id, given; NULL if there is none that jansson reads. */
json_t *json_text_id(const struct json_text *text, const char *bytes, size_t len);

#endif
