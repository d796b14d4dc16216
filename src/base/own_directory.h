/*
 * Directories of one server, which it removes when it ends. If the server is killed, the next one that makes
 * such a directory removes it.
 */
#ifndef BASE_OWN_DIRECTORY_H
#define BASE_OWN_DIRECTORY_H

#include "base/errors.h"

/*
 * own_directory_make(parent, prefix, lock, err):
 * Make a directory: ${prefix} and six characters in ${parent}, mode 0700. A thread begins to remove those of
 * servers that have died.
 *
 * prefix      of nothing else that the user keeps in ${parent}
 * lock        set to a descriptor, given, that marks it as in use
 * Returns     its path, given; NULL with ${err} set
 * Errors      ERR_SYSTEM
 */
char *own_directory_make(const char *parent, const char *prefix, int *lock, struct err *err);

/* own_directory_remove(path, lock): with all that is in it; both are taken. NULL does nothing. */
void own_directory_remove(char *path, int lock);

#endif
