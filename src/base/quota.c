/*
 * Counts with bounds.
 */
#include "base/quota.h"

#include "base/check.h"

bool quota_take(struct quota *q, struct err *err)
{
    for (const struct quota *at = q; at != NULL; at = at->parent)
        if (at->most > 0 && at->used >= at->most)
            return err_set(err, ERR_LIMIT, "%s may have at most %zu %s.", at->holder, at->most, at->what);
    for (; q != NULL; q = q->parent)
        q->used++;
    return true;
}

void quota_give_back(struct quota *q)
{
    for (; q != NULL; q = q->parent) {
        CHECK(q->used > 0);
        q->used--;
    }
}
