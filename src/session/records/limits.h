/*
 * The limits of a session: one table defines their bounds, names, descriptions and defaults.
 */
#ifndef SESSION_RECORDS_LIMITS_H
#define SESSION_RECORDS_LIMITS_H

#include <stdbool.h>

#include "base/errors.h"

enum limit {
    LIMIT_TIMEOUT,
    LIMIT_MAX_OUTPUT,
    LIMIT_PRINT_LENGTH,
    LIMIT_PRINT_LEVEL,
    LIMIT_MAX_HEAP,
    LIMIT_CHECKPOINTS,
    LIMIT_THREAD_ERRORS,
    LIMIT_MAX_MEMORY, /* a session changes it only in an image that a person runs */
    LIMIT_COUNT
};

struct limit_definition {
    const char *
        name; /* kebab-case: the name of the option, of the argument of configure-limits, and in its output */
    const char *unit; /* "s", "bytes", "MiB", "" */
    double minimum, maximum, initial;
    bool is_whole;
    const char *at_0;        /* what 0 means; NULL: 0 */
    const char *description; /* one sentence */
};

struct limits {
    double value[LIMIT_COUNT];
};

/* limit_definition(limit): its row in the table. */
const struct limit_definition *limit_definition(enum limit limit);

/* limit_find(name): its index, or LIMIT_COUNT if there is no such limit. */
enum limit limit_find(const char *name);

/* limits_init(l): set every limit to its initial value. limits_set(l, limit, value, err): false with
 * ${err} set if out of bounds. */
void limits_init(struct limits *l);
bool limits_set(struct limits *l, enum limit limit, double value, struct err *err);

/* limits_int(l, limit): the value as a whole number. limits_timeout_ms(l): the time limit in milliseconds. */
int limits_int(const struct limits *l, enum limit limit);
int limits_timeout_ms(const struct limits *l);

#endif
