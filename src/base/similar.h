/*
 * "Did you mean": finds the name that is most similar to a requested one.
 */
#ifndef BASE_SIMILAR_H
#define BASE_SIMILAR_H

#include <stddef.h>

#define SIMILAR_MAX 64

struct similar {
    char wanted[SIMILAR_MAX + 1]; /* lower case, `-` for `_`, cut to fit */
    const char *best;             /* borrowed from similar_offer(); NULL while none was near */
    size_t score;                 /* of ${best}; lower is nearer */
};

/* similar_fold(c): in lower case, and `-` for `_`: names that differ only in that are the same. */
char similar_fold(char c);

/* similar_init(s, name): begin a search for a name similar to ${name}. similar_offer(s, candidate):
 * consider a candidate; of equally near ones the first wins. */
void similar_init(struct similar *s, const char *name);
void similar_offer(struct similar *s, const char *candidate);

#endif
