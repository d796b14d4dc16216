/*
 * What an evaluation has defined, and the text that it replaced: found in the code of the history.
 */
#ifndef TOOLS_EVENT_DEFINITIONS_H
#define TOOLS_EVENT_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

struct journal;

/* A definition, in borrowed texts. */
struct event_definition {
    const char *operator, * name, *text;
    size_t operator_len, name_len, len;
    const char *replaced; /* the former text of the same kind and name; NULL: none is known */
    size_t replaced_len;
    uint64_t replaced_evaluation;
};

/*
 * event_definitions_each(j, code, len, evaluation, each, arg):
 * Call ${each} for each definition in ${code}, at most 50. Code whose parentheses are unbalanced has none.
 *
 * evaluation  that of the code: former definitions are looked for before it, in a bounded part of ${j}
 */
void event_definitions_each(const struct journal *j, const char *code, size_t len, uint64_t evaluation,
                            void (*each)(void *arg, const struct event_definition *d), void *arg);

#endif
