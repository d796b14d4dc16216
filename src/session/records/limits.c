/*
 * The table of limits.
 */
#include "session/records/limits.h"

#include <math.h>
#include <string.h>

static const struct limit_definition definitions[LIMIT_COUNT] = {
    [LIMIT_TIMEOUT] = {"timeout", "s", 0.05, 86400, 30, false, NULL, "Time limit of one call"},
    [LIMIT_MAX_OUTPUT] =
        {"max-output", "bytes", 200, 4000000, 4096, true, NULL,
         "Maximum size of each output or value in a reply; a whole reply has at most four times as much"},
    [LIMIT_PRINT_LENGTH] = {"print-length", "", 0, 1000000, 0, true, "unlimited",
                            "Maximum elements printed of each list or vector; 0 for no limit"},
    [LIMIT_PRINT_LEVEL] = {"print-level", "", 0, 1000, 0, true, "unlimited",
                           "Maximum nesting levels printed of a value; 0 for no limit"},
    [LIMIT_MAX_HEAP] = {"max-heap", "MiB", 128, 1048576, 2048, true, NULL,
                        "Heap of a session's Lisp; takes effect when the session is next reset or created"},
    [LIMIT_CHECKPOINTS] = {"checkpoint-limit", "", 0, 64, 8, true, NULL,
                           "Maximum unnamed checkpoints of a session; 0 for none"},
    [LIMIT_THREAD_ERRORS] =
        {"thread-errors", "", 0, 5, 0, true, NULL,
         "Maximum failed threads kept in their error, so that it can be entered; 0 ends them"},
    [LIMIT_MAX_MEMORY] =
        {"max-memory", "MiB", 0, 1048576, 0, true, "an eighth of the free heap",
         "Maximum memory of a session and its copies before old copies are dropped, or what an evaluation in "
         "a joined Lisp may keep before it is stopped; 0 for a quarter of the memory, or an eighth of the "
         "free heap"},
};

const struct limit_definition *limit_definition(enum limit limit)
{
    return &definitions[limit];
}

enum limit limit_find(const char *name)
{
    size_t i = 0;
    while (i < LIMIT_COUNT && strcmp(definitions[i].name, name) != 0)
        i++;
    return (enum limit)i;
}

void limits_init(struct limits *l)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        l->value[i] = definitions[i].initial;
}

bool limits_set(struct limits *l, enum limit limit, double value, struct err *err)
{
    const struct limit_definition *d = &definitions[limit];
    /* Written so that NaN is rejected as well. */
    if (!(value >= d->minimum && value <= d->maximum) || (d->is_whole && value != floor(value)))
        return err_set(err, ERR_INVALID, "%s must be a %snumber from %.10g to %.10g%s%s.", d->name,
                       d->is_whole ? "whole " : "", d->minimum, d->maximum, d->unit[0] != '\0' ? " " : "",
                       d->unit);
    l->value[limit] = value;
    return true;
}

int limits_int(const struct limits *l, enum limit limit)
{
    return (int)l->value[limit];
}

int limits_timeout_ms(const struct limits *l)
{
    return (int)(l->value[LIMIT_TIMEOUT] * 1000);
}
