/*
 * A count with an upper bound, and optionally a parent that counts the same things under a wider bound.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

struct quota {
    struct quota *parent; /* borrowed; NULL for none */
    size_t used, most;    /* most 0: unlimited */
    /* For the message if ${most} is not 0: "The server", "sessions (--max-sessions)"; borrowed. */
    const char *holder, *what;
};

/*
 * quota_take(q, err), quota_give_back(q): count one more or one less, here and in all parents. If ${q} is
 * NULL, nothing is counted.
 *
 * Returns     false with ${err} set (ERR_LIMIT: "HOLDER may have at most 20 WHAT."); the counts are then
 *             unchanged
 */
bool quota_take(struct quota *q, struct err *err);
void quota_give_back(struct quota *q);

#endif
