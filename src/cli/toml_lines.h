/*
 * TOML text as a sequence of statements: table headers, and keys with their values. Parses only enough to
 * find where a statement ends and what its key is; values are not interpreted.
 */
#ifndef CLI_TOML_LINES_H
#define CLI_TOML_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

enum toml_kind {
    TOML_EMPTY,        /* a blank line or a comment */
    TOML_TABLE,        /* [a.b] */
    TOML_TABLE_IN_ROW, /* [[a.b]] */
    TOML_KEY,          /* a.b = value */
};

#define TOML_MOST_PARTS 3
#define TOML_MOST_PART 128

struct toml_statement {
    enum toml_kind kind;
    size_t from, to;         /* offsets; whole lines */
    size_t value, value_end; /* of a TOML_KEY */
    size_t part_count;       /* number of parts of its name; may be more than are kept */
    char parts[TOML_MOST_PARTS][TOML_MOST_PART + 1]; /* without quotes; "" for a part that is too long or
                                                        contains escape sequences */
};

struct toml_lines {
    const char *text; /* borrowed */
    size_t len, at;
};

/* toml_lines_init(lines, text, len): start at the beginning of ${text}, which may contain any bytes. */
void toml_lines_init(struct toml_lines *lines, const char *text, size_t len);

/*
 * toml_lines_next(lines, out, err):
 * Read the next statement.
 *
 * Returns     false at the end of the text, with ERR_NONE in ${err}, and at an error
 * Errors      ERR_SYNTAX: the message names the line
 */
bool toml_lines_next(struct toml_lines *lines, struct toml_statement *out, struct err *err);

#endif
