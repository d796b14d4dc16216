/*
 * Where a user's programs keep their files.
 */
#ifndef BASE_USER_DIRECTORY_H
#define BASE_USER_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

/*
 * user_directory(variable, in_home, name, path, size):
 * Write the path of ${name} in the directory that the environment variable names, or else in ${in_home} of
 * the home directory.
 *
 * variable    "XDG_CACHE_HOME"
 * in_home     ".cache"
 * Returns     false if neither the variable nor HOME is an absolute path
 * Source      XDG Base Directory Specification: relative paths there are ignored
 */
bool user_directory(const char *variable, const char *in_home, const char *name, char *path, size_t size);

/* user_directory_make(path, err): make it, for its owner only, with those above it; it may be there already.
 */
bool user_directory_make(const char *path, struct err *err);

/* is_directory(path): whether it is one, perhaps through symbolic links. */
bool is_directory(const char *path);

/* user_directory_trusted(path): the path, without symbolic links, of a directory that only this user can
 * change; it can be used again as text. Given; NULL if ${path} is not such a directory. */
char *user_directory_trusted(const char *path);

#endif
