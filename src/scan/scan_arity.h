/*
 * How many arguments the common standard operators take. Internal to src/scan.
 */
#ifndef SCAN_SCAN_ARITY_H
#define SCAN_SCAN_ARITY_H

#include <stdbool.h>
#include <stddef.h>

enum { SCAN_ARITY_ANY = 255 };

struct scan_arity {
    const char *name;
    unsigned char least, most; /* number of arguments; most may be SCAN_ARITY_ANY */
    bool is_even;              /* takes pairs of place and value */
    bool has_bindings;         /* the first argument is a list of (NAME VALUE) */
};

/*
 * scan_arity_of(name, len):
 * The row of the operator of that name, ignoring case; NULL if the table has none.
 *
 * name        borrowed; need not end there
 */
const struct scan_arity *scan_arity_of(const char *name, size_t len);

#endif
