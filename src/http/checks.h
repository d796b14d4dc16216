/*
 * What is checked of a request before its body is read: a table of checks in the order in which they answer.
 */
#ifndef HTTP_CHECKS_H
#define HTTP_CHECKS_H

#include <stdbool.h>

struct exchange;
struct principals;

struct check_rules {
    const char *const *allowed_hosts;   /* NULL-terminated, or NULL; besides those of this machine */
    const char *const *allowed_origins; /* the same */
    const char *const *cors_origins;    /* pages from there may read answers */
    struct principals *principals;
    bool is_ending;
};

/* checks_run(rules, e): all of them; one that fails has refused the exchange. Fills in who it is and what it
 * takes. */
void checks_run(const struct check_rules *rules, struct exchange *e);

#endif
