/*
 * Reads the user's directories from the environment.
 */
#include "base/user_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define OVERFLOW_UID 65534 /* the kernel's default for users outside a user namespace */

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

/*
 * Whether other users could replace the contents of the directory behind ${fd}, a parent of the one to be
 * trusted. They cannot if they may not write to it, nor if it has the sticky bit, under which they can
 * rename only their own files. The user's own group counts as the user, since many systems give each user a
 * group. In a user namespace the kernel shows all users and groups outside it, root included, as 65534.
 */
static bool is_safe_ancestor(int fd)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return false;
    if (s.st_uid != 0 && s.st_uid != getuid() && s.st_uid != OVERFLOW_UID)
        return false;
    bool is_shared = (s.st_mode & S_IWOTH) != 0 || ((s.st_mode & S_IWGRP) != 0 && s.st_gid != 0 &&
                                                    s.st_gid != getgid() && s.st_gid != OVERFLOW_UID);
    return !is_shared || (s.st_mode & S_ISVTX) != 0;
}

char *user_directory_trusted(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat s;
    bool is_trusted = fstat(fd, &s) == 0 && s.st_uid == getuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                      faccessat(fd, ".", W_OK, 0) == 0;
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    char real[PATH_MAX];
    ssize_t len = readlink(link, real, sizeof real - 1);
    is_trusted = is_trusted && len > 0;
    /* A path of that length has no more directories. */
    for (ssize_t i = 0; is_trusted && i < len; i++) {
        if (real[i] != '/')
            continue;
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = above;
        is_trusted = fd >= 0 && is_safe_ancestor(fd);
    }
    if (fd >= 0)
        close(fd);
    if (!is_trusted)
        return NULL;
    real[len] = '\0';
    return xstrdup(real);
}
