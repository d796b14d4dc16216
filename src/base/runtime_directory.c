/*
 * Responsible for choosing and checking the directory. Everybody may write to /tmp, so what is there already
 * is trusted only if it belongs to this user alone.
 */
#include "base/runtime_directory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool runtime_directory_is_ours(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool runtime_directory_anywhere(size_t n, char *path, size_t size)
{
    const char *chosen = getenv("XDG_RUNTIME_DIR");
    bool is_chosen = chosen != NULL && chosen[0] == '/';
    if (n == 0)
        snprintf(path, size, "/tmp/cl-mcp-server-view-%u", (unsigned)geteuid());
    else if (n == 1)
        snprintf(path, size, "/run/user/%u/cl-mcp-server", (unsigned)geteuid());
    else if (n == 2 && is_chosen)
        snprintf(path, size, "%.3900s/cl-mcp-server", chosen);
    return n < 2 || (n == 2 && is_chosen);
}

bool runtime_directory_at(size_t n, char *path, size_t size)
{
    char usual[PATH_MAX];
    bool is_chosen = runtime_directory_anywhere(2, path, size);
    if (is_chosen && n == 0)
        return true;
    runtime_directory_anywhere(1, usual, sizeof usual);
    if (n > (is_chosen ? 1 : 0) || (is_chosen && strcmp(path, usual) != 0 && runtime_directory_is_ours(path)))
        return false;
    return runtime_directory_anywhere(0, path, size);
}

bool runtime_directory_make(char *path, size_t size, struct err *err)
{
    err_set(err, ERR_SYSTEM, "there is no directory for it");
    for (size_t n = 0; runtime_directory_at(n, path, size); n++) {
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            err_set_errno(err, ERR_SYSTEM, errno, "cannot make the directory %s", path);
        else if (runtime_directory_is_ours(path))
            return true;
        else
            err_set(err, ERR_SYSTEM, "%s is not a directory that only this user can enter", path);
    }
    return false;
}
