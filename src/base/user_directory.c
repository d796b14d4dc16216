/*
 * Reads the user's directories from the environment.
 */
#include "base/user_directory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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

bool user_directory_make(const char *path, struct err *err)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", path);
    for (char *p = above + 1; *p != '\0'; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(above, 0700);
            *p = '/';
        }
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    return err_set_errno(err, ERR_SYSTEM, errno, "cannot make the directory %s", path);
}

bool is_directory(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}
