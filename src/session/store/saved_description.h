/*
 * What the description of a saved session contains, as JSON.
 */
#ifndef SESSION_STORE_SAVED_DESCRIPTION_H
#define SESSION_STORE_SAVED_DESCRIPTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "session/records/limits.h"

struct journal;

/* The description of a saved session. */
struct saved {
    json_t *description; /* as it was read; owned. The strings are borrowed from it */
    char *image;         /* path */
    const char *name;
    const char *lisp; /* "SBCL 2.2.9.debian" */
    const char *package;
    const char *sandbox,
        *network;          /* names of its confinement, which it is to have again; NULL in older saves */
    const char *directory; /* NULL: it had the server's */
    const char
        *checkpoints; /* "good (evaluation 3), ...": the named ones, which it does not hold; NULL: none */
    struct limits limits;
    bool has_limit[LIMIT_COUNT]; /* the session had that one changed; the others are not saved */
    int heap_mib;                /* the heap size with which its process ran */
    uint64_t evaluations;
};

/*
 * saved_description_write(s, journal):
 * The description of ${s}, saved now, without the members `size` and `hash` of its image.
 *
 * journal     borrowed; may be NULL
 * Returns     given
 */
json_t *saved_description_write(const struct saved *s, const struct journal *journal);

/*
 * saved_description_read(s, name, lisp, err):
 * Check that the description of ${s} is of a save of the session ${name}, and set all of ${s} but its image.
 *
 * lisp        the Lisp that would run it; "" if not known yet: it is not checked then
 * Errors      ERR_INVALID
 */
bool saved_description_read(struct saved *s, const char *name, const char *lisp, struct err *err);

/* saved_description_read_journal(d, journal): add the history in ${d} to ${journal}. */
void saved_description_read_journal(const json_t *d, struct journal *journal);

#endif
