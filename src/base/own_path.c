/*
 * The kernel resolves the server's part of a path without links (openat2), so that there is no moment between
 * a check and the use.
 */
#include "base/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

int open_beneath(const char *top, const char *inner, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .mode = (flags & O_CREAT) != 0 ? 0600 : 0,
                           .resolve = RESOLVE_BENEATH | resolve};
    int directory = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, directory, inner, &how, sizeof how), error = errno;
    close(directory);
    errno = error;
    return fd;
}

int own_path_open(const char *path, size_t given_len, int flags)
{
    char *given = xmemdup0(path, given_len);
    const char *own = path + given_len + strspn(path + given_len, "/");
    int fd =
        open_beneath(given, own[0] == '\0' ? "." : own, flags | O_NOFOLLOW | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    int error = errno;
    free(given);
    errno = error;
    return fd;
}

void own_path_remove(const char *path, size_t given_len)
{
    const char *name = strrchr(path, '/') + 1;
    char *directory = xmemdup0(path, (size_t)(name - 1 - path));
    int fd = own_path_open(directory, given_len, O_RDONLY | O_DIRECTORY);
    if (fd >= 0) {
        unlinkat(fd, name, 0);
        close(fd);
    }
    free(directory);
}
