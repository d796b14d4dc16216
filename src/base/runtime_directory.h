/*
 * Where running servers leave the sockets for their owner: $XDG_RUNTIME_DIR/cl-mcp-server, otherwise
 * /tmp/cl-mcp-server-view-UID. A server that runs outside of the user's login session may lack the variable,
 * so both are looked at, unless the variable names another directory than the login session's, /run/user/UID.
 */
#ifndef BASE_RUNTIME_DIRECTORY_H
#define BASE_RUNTIME_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

/* runtime_directory_at(n, path, size): the n-th candidate, the best first; false after the last. */
bool runtime_directory_at(size_t n, char *path, size_t size);

/* runtime_directory_anywhere(n, path, size): each path that a program of this user may choose, whatever the
 * variable says there; false after the last. */
bool runtime_directory_anywhere(size_t n, char *path, size_t size);

/* runtime_directory_is_ours(path): it is a directory of this user that nobody else can enter. */
bool runtime_directory_is_ours(const char *path);

/* runtime_directory_make(path, size, err): make the first candidate that can be made, mode 0700; false with
 * ${err} set if none can. */
bool runtime_directory_make(char *path, size_t size, struct err *err);

#endif
