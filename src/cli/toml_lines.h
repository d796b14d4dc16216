/*
 * A text of TOML as a row of statements: table headers and keys with their values. It knows enough of the
 * format to tell where a statement ends and what its key is, and leaves the values alone.
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
    size_t part_count;       /* how many parts its name has; may be more than are kept */
    char parts[TOML_MOST_PARTS][TOML_MOST_PART + 1]; /* without quotes; "" for one that is too long or has
                                                        escape sequences */
};

struct toml_lines {
    const char *text; /* borrowed */
    size_t len, at;
};

/* toml_lines_init(lines, text, len): begin at the start of a text; any bytes. */
void toml_lines_init(struct toml_lines *lines, const char *text, size_t len);

/*
 * toml_lines_next(lines, out, err):
 * Read the next statement.
 *
 * Returns     false at the end of the text, with ERR_NONE in ${err}, and at a mistake
 * Errors      ERR_SYNTAX: the message says in which line
 */
bool toml_lines_next(struct toml_lines *lines, struct toml_statement *out, struct err *err);

#endif
