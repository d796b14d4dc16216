/*
 * A shared library that is loaded on demand, because linking it would take time at each start of the program.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

/* A function of the library, and the offset of the member that points to it. */
struct library_function {
    const char *name;
    size_t place;
};

/*
 * library_load(library, name, package, functions, members, err):
 * Load the library and find its functions.
 *
 * library     set for library_unload(); NULL after a failure
 * name        of the library's file
 * package     of Debian, which the message names
 * functions   ends with a name of NULL
 * members     the struct whose members are set
 * Errors      ERR_START
 */
bool library_load(void **library, const char *name, const char *package,
                  const struct library_function *functions, void *members, struct err *err);

/* library_unload(library): unload it; NULL does nothing. */
void library_unload(void *library);

#endif
