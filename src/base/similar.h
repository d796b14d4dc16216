/*
 * "Did you mean": finds the name that is most similar to a requested one.
 */
#ifndef BASE_SIMILAR_H
#define BASE_SIMILAR_H

#include <stdbool.h>
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

/* similar_is_spelling(given, len, name): do these ${len} bytes spell ${name}, which is in lower case with
 * dashes? Case does not matter, `_` stands for `-`. */
bool similar_is_spelling(const char *given, size_t len, const char *name);

#endif
