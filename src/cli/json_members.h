/*
 * Positions in JSON with comments and trailing commas: the members on the path to a given one. The whole
 * text is checked, in linear time; nothing is changed.
 */
#ifndef CLI_JSON_MEMBERS_H
#define CLI_JSON_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

#define JSON_MEMBERS_MOST_PATH 3

/* A member with its value; offsets into the text. */
struct json_member {
    bool is_there;
    size_t key, value, value_end;
    size_t end;          /* after the comma that follows it, or ${value_end} if there is none */
    size_t comma_before; /* the comma between it and the previous member; its own key if it is the first */
    bool is_object;
};

struct json_object {
    size_t open, close; /* of its braces */
    size_t count;       /* members */
    size_t first_key;   /* of its first member */
};

struct json_members {
    bool has_root;                                      /* false: only blanks and comments */
    size_t root;                                        /* where the root value begins */
    struct json_object objects[JSON_MEMBERS_MOST_PATH]; /* [n] is where path[n] is looked up */
    struct json_member members[JSON_MEMBERS_MOST_PATH]; /* [n] is the member path[n] */
};

/*
 * json_members_find(text, len, path, out, err):
 * Check the text and find the member path[0] of its root object, the member path[1] of that member's
 * value, and so on, as far as they exist.
 *
 * text        borrowed; any bytes. A byte order mark, comments and trailing commas are accepted
 * path        borrowed; NULL-terminated, at most JSON_MEMBERS_MOST_PATH names
 * Errors      ERR_SYNTAX, ERR_TOO_DEEP: the message contains line and column
 */
bool json_members_find(const char *text, size_t len, const char *const *path, struct json_members *out,
                       struct err *err);

/*
 * json_members_value(text, from, to): the value in this part of a checked text; given. NULL if
 * jansson rejects what this scanner accepts (a number outside its range).
 */
json_t *json_members_value(const char *text, size_t from, size_t to);

/* json_members_skip(text, from, to): the first offset that is neither white space nor in a comment; ${to}
 * if there is none. For a checked text. */
size_t json_members_skip(const char *text, size_t from, size_t to);

#endif
