/*
 * Reads the user's directories from the environment.
 */
#include "base/user_directory.h"

#include <stdio.h>
#include <stdlib.h>

bool user_directory(const char *variable, const char *in_home, const char *name, char *path, size_t size)
{
    const char *chosen = getenv(variable), *home = getenv("HOME");
    if (chosen != NULL && chosen[0] == '/')
        snprintf(path, size, "%.3900s/%s", chosen, name);
    else if (home != NULL && home[0] == '/')
        snprintf(path, size, "%.3900s/%s/%s", home, in_home, name);
    else
        return false;
    return true;
}
