/*
 * Responsible for the similarity of names: first by few typing errors (optimal string alignment), then by one
 * name containing the other.
 */
#include "base/similar.h"

#include <stdint.h>
#include <string.h>

/* Almost every name contains shorter ones. */
#define SHORTEST_PART 3

/* A name that contains the other is farther than any number of typing errors. */
#define PART_SCORE 1000

char similar_fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

static void fold(char out[SIMILAR_MAX + 1], const char *name)
{
    size_t i;

    for (i = 0; i < SIMILAR_MAX && name[i]; i++)
        out[i] = similar_fold(name[i]);
    out[i] = '\0';
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of insertions, deletions, replacements and swaps of neighbours that turn ${a} into ${b}. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][SIMILAR_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2], *spare;
    size_t a_len = strlen(a), b_len = strlen(b), i, j;

    for (j = 0; j <= b_len; j++)
        above[j] = j;
    for (i = 1; i <= a_len; i++) {
        row[0] = i;
        for (j = 1; j <= b_len; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_len];
}

void similar_init(struct similar *s, const char *name)
{
    fold(s->wanted, name);
    s->best = NULL;
    s->score = SIZE_MAX;
}

void similar_offer(struct similar *s, const char *candidate)
{
    char other[SIMILAR_MAX + 1];
    size_t wanted_len = strlen(s->wanted), other_len, score;
    bool is_part;

    fold(other, candidate);
    other_len = strlen(other);
    score = edit_distance(s->wanted, other);
    is_part = (wanted_len >= SHORTEST_PART && strstr(other, s->wanted)) ||
              (other_len >= SHORTEST_PART && strstr(s->wanted, other));
    /* With more than a third of the letters wrong it is another word. */
    if (3 * score > (wanted_len > other_len ? wanted_len : other_len)) {
        if (!is_part)
            return;
        score += PART_SCORE;
    }
    if (score < s->score) {
        s->best = candidate;
        s->score = score;
    }
}

bool similar_is_spelling(const char *given, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '\0' || similar_fold(given[i]) != similar_fold(name[i]))
            return false;
    }
    return name[len] == '\0';
}
