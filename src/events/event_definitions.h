/*
 * What an evaluation has defined, and the text that it replaced: found in the code of the history.
 */
#ifndef EVENTS_EVENT_DEFINITIONS_H
#define EVENTS_EVENT_DEFINITIONS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/*
 * event_definitions(j, code, len, evaluation):
 * The members of an event (docs/view.md) for each definition in ${code}, at most 50. Code whose parentheses
 * are unbalanced has none.
 *
 * evaluation  that of the code: former definitions are looked for before it, in a bounded part of ${j}
 * Returns     given: an array
 */
json_t *event_definitions(const struct journal *j, const char *code, size_t len, uint64_t evaluation);

#endif
