/*
 * Responsible for reading and replacing one regular file. The folder is opened once and every operation is
 * relative to it, so renaming the folder in between does no harm.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/own_path.h"

/* The folder part of the path, given; sets the name. NULL if the path names no file. */
static char *take_apart(struct regular_file *file, struct err *err)
{
    char *slash = strrchr(file->path, '/');
    file->name = slash == NULL ? file->path : slash + 1;
    if (file->name[0] == '\0') {
        err_set(err, ERR_INVALID, "'%s' is not the name of a file", file->path);
        return NULL;
    }
    if (slash == NULL)
        return xstrdup(".");
    return slash == file->path ? xstrdup("/") : xmemdup0(file->path, (size_t)(slash - file->path));
}

static bool open_directory(struct regular_file *file, struct err *err)
{
    char *directory = take_apart(file, err);
    if (directory == NULL)
        return false;
    file->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    free(directory);
    if (file->directory >= 0)
        return true;
    return err_set_errno(err, error == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, error, "%s", file->path);
}

/* The part of the absolute path ${directory} below ${root}; NULL if it is not below it. */
static const char *below(const char *root, const char *directory)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    if (strncmp(root, directory, len) != 0 || (directory[len] != '/' && directory[len] != '\0'))
        return NULL;
    while (directory[len] == '/')
        len++;
    return directory[len] == '\0' ? "." : directory + len;
}

static bool open_directory_beneath(struct regular_file *file, const char *root, struct err *err)
{
    char *directory = take_apart(file, err);
    char *real = directory == NULL ? NULL : realpath(root, NULL);
    const char *inner = directory;
    if (real != NULL && directory[0] == '/') {
        inner = below(root, directory);
        inner = inner == NULL ? below(real, directory) : inner;
    }
    if (real != NULL && inner != NULL)
        file->directory = open_beneath(root, inner, O_RDONLY | O_DIRECTORY, 0);
    int error = errno;
    if (directory != NULL && file->directory < 0) {
        if (inner == NULL || error == EXDEV)
            err_set(err, ERR_INVALID, "%s is not in %s", file->path, real == NULL ? root : real);
        else
            err_set_errno(err, error == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, error, "%s", file->path);
    }
    free(directory);
    free(real);
    return file->directory >= 0;
}

static bool read_all(struct regular_file *file, int fd, struct err *err)
{
    char piece[1 << 16];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_SYSTEM, errno, "%s", file->path);
        if (got == 0)
            return true;
        if (!strbuf_add(&file->text, piece, (size_t)got))
            return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", file->path, file->text.limit);
    }
}

static bool read_file(struct regular_file *file, int flags, struct err *err)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = openat(file->directory, file->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0 && errno == ELOOP && flags == O_NOFOLLOW)
        return err_set(err, ERR_INVALID, "%s is a symbolic link; name the file it points to", file->path);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, errno, "%s", file->path);
    bool is_read = false;
    if (fstat(fd, &file->status) != 0)
        err_set_errno(err, ERR_SYSTEM, errno, "%s", file->path);
    else if (!S_ISREG(file->status.st_mode))
        err_set(err, ERR_INVALID, "%s is not a regular file", file->path);
    else if (file->status.st_size > 0 && (size_t)file->status.st_size > file->text.limit)
        err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", file->path, file->text.limit);
    else
        is_read = read_all(file, fd, err);
    close(fd);
    return is_read;
}

static void regular_file_init(struct regular_file *file, const char *path, size_t limit)
{
    *file = (struct regular_file){.directory = -1, .path = xstrdup(path)};
    strbuf_init(&file->text, limit);
}

bool regular_file_read(struct regular_file *file, const char *path, size_t limit, struct err *err)
{
    regular_file_init(file, path, limit);
    return open_directory(file, err) && read_file(file, 0, err);
}

bool regular_file_read_beneath(struct regular_file *file, const char *root, const char *path, size_t limit,
                               struct err *err)
{
    regular_file_init(file, path, limit);
    return open_directory_beneath(file, root, err) && read_file(file, O_NOFOLLOW, err);
}

static bool is_unchanged(const struct regular_file *file, struct err *err)
{
    const struct stat *then = &file->status;
    struct stat now;
    if (fstatat(file->directory, file->name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "%s", file->path);
    if (S_ISLNK(now.st_mode))
        return err_set(err, ERR_INVALID, "%s is a symbolic link; name the file it points to", file->path);
    if (now.st_ino != then->st_ino || now.st_dev != then->st_dev || now.st_size != then->st_size ||
        now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
        return err_set(err, ERR_INVALID, "%s was changed while it was being checked", file->path);
    if (now.st_nlink > 1)
        return err_set(err, ERR_INVALID, "%s has %lu hard links; replacing it would separate them",
                       file->path, (unsigned long)now.st_nlink);
    /* Replacing it needs write access to the directory only; its owner may have meant this file. */
    if (faccessat(file->directory, file->name, W_OK, AT_EACCESS) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "%s", file->path);
    return true;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t written = write(fd, bytes, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        len -= (size_t)written;
    }
    return true;
}

/* The pattern of temporary names. */
#define NEW_NAME 64

/* The owner before the mode: chown clears the set-user-id bits. */
static bool fill_in(const struct regular_file *file, int fd, const char *bytes, size_t len, struct err *err)
{
    struct stat made;
    if (!write_all(fd, bytes, len))
        return err_set_errno(err, ERR_SYSTEM, errno, "a new %s could not be written", file->path);
    if (fstat(fd, &made) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "%s", file->path);
    if ((made.st_uid != file->status.st_uid || made.st_gid != file->status.st_gid) &&
        fchown(fd, file->status.st_uid, file->status.st_gid) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "the owner of %s cannot be kept", file->path);
    if (fchmod(fd, file->status.st_mode & 07777) != 0 || fsync(fd) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "a new %s could not be written", file->path);
    return true;
}

/* Create a file with that text in the same folder; put its name into ${name}. False: no file remains. */
static bool make_beside(const struct regular_file *file, char name[NEW_NAME], const char *bytes, size_t len,
                        struct err *err)
{
    enum { TRIES = 100 };
    int fd = -1;
    for (int i = 0; fd < 0 && i < TRIES; i++) {
        snprintf(name, NEW_NAME, ".cl-mcp-server-%ld-%d", (long)getpid(), i);
        fd = openat(file->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "no new file can be made beside %s", file->path);
    bool is_done = fill_in(file, fd, bytes, len, err);
    if (close(fd) != 0 && is_done)
        is_done = err_set_errno(err, ERR_SYSTEM, errno, "a new %s could not be written", file->path);
    if (!is_done)
        unlinkat(file->directory, name, 0);
    return is_done;
}

bool regular_file_replace(const struct regular_file *file, const char *bytes, size_t len, struct err *err)
{
    char name[NEW_NAME];
    if (!is_unchanged(file, err) || !make_beside(file, name, bytes, len, err))
        return false;
    bool is_done = is_unchanged(file, err);
    if (is_done && renameat(file->directory, name, file->directory, file->name) != 0)
        is_done = err_set_errno(err, ERR_SYSTEM, errno, "%s cannot be replaced", file->path);
    if (!is_done)
        unlinkat(file->directory, name, 0);
    return is_done;
}

bool regular_file_create(const char *path, mode_t mode, const char *bytes, size_t len, struct err *err)
{
    struct regular_file file;
    char name[NEW_NAME];
    mode_t mask = umask(0);
    umask(mask);
    regular_file_init(&file, path, 0);
    file.status.st_mode = mode & ~mask;
    file.status.st_uid = geteuid();
    file.status.st_gid = (gid_t)-1; /* a set-group-id folder determines the group of new files */
    bool is_done = open_directory(&file, err) && make_beside(&file, name, bytes, len, err);
    if (is_done) {
        /* link(2), unlike rename(2), never replaces an existing file. */
        if (linkat(file.directory, name, file.directory, file.name, 0) != 0)
            is_done = err_set_errno(err, ERR_SYSTEM, errno, "%s cannot be made", path);
        unlinkat(file.directory, name, 0);
    }
    regular_file_fini(&file);
    return is_done;
}

bool regular_file_write(const char *path, const void *bytes, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write_all(fd, bytes, len);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    return is_written || err_set_errno(err, ERR_SYSTEM, error, "cannot write %s", path);
}

void regular_file_fini(struct regular_file *file)
{
    if (file->directory >= 0)
        close(file->directory);
    file->directory = -1;
    free(file->path);
    file->path = NULL;
    strbuf_fini(&file->text);
}
