/*
 * The configuration of git in the sandbox. The user's own may hold credentials, and git fails if it may not
 * read a configuration that exists, so the programs of sandboxed Lisps get one of their own.
 */
#ifndef LISP_GIT_IDENTITY_H
#define LISP_GIT_IDENTITY_H

#include <stdbool.h>

#include "base/errors.h"

/* git_identity_write(path, err): write a configuration of git that contains the name and the e-mail address
 * in the user's, and the name of the first branch; nothing else of it. */
bool git_identity_write(const char *path, struct err *err);

#endif
