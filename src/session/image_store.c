/*
 * The server locks its directory for its whole life (flock). A directory that another process can lock
 * belongs to a server that has died.
 */
#include "session/image_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"

#define PREFIX "suspended-"
#define ATTEMPTS 5

struct image_store {
    char *parent;
    char *path; /* NULL: not created yet */
    int lock;   /* descriptor of the directory; -1 */
    unsigned long made;
};

struct image_store *image_store_new(const char *parent)
{
    struct image_store *d = xcalloc(1, sizeof *d);
    const char *temporary = getenv("TMPDIR");
    d->parent = xstrdup(parent != NULL                             ? parent
                        : temporary != NULL && temporary[0] == '/' ? temporary
                                                                   : "/tmp");
    d->lock = -1;
    return d;
}

/* Removes a directory of a server, which contains only files. */
static void remove_directory(int parent, const char *name, int directory)
{
    int copy = dup(directory);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(directory, entry->d_name, 0);
    if (entries != NULL)
        closedir(entries);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes those of servers that have died; in a shared directory for temporary files, those of other users
 * stay. */
static void remove_leftovers(const char *parent)
{
    DIR *entries = opendir(parent);
    if (entries == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        int directory =
            openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat s;
        if (directory >= 0 && fstat(directory, &s) == 0 && s.st_uid == geteuid() &&
            flock(directory, LOCK_EX | LOCK_NB) == 0)
            remove_directory(dirfd(entries), entry->d_name, directory);
        if (directory >= 0)
            close(directory);
    }
    closedir(entries);
}

/* Another server may take the new directory for a leftover before it is locked, and remove it: then create
 * another. */
static bool make(struct image_store *d, struct err *err)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    for (int attempt = 0; attempt < ATTEMPTS && d->path == NULL; attempt++) {
        struct stat s;
        strbuf_clear(&b);
        strbuf_addf(&b, "%s/" PREFIX "XXXXXX", d->parent);
        if (mkdtemp(b.bytes) == NULL)
            break;
        int lock = open(b.bytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &s) == 0 && s.st_nlink > 0) {
            d->lock = lock;
            d->path = xstrdup(b.bytes);
        } else if (lock >= 0) {
            close(lock);
        }
    }
    int e = errno;
    strbuf_fini(&b);
    return d->path != NULL ||
           err_set_errno(err, ERR_SYSTEM, e, "cannot make a directory for suspended sessions in %s",
                         d->parent);
}

char *image_store_prepare(struct image_store *d, struct err *err)
{
    if (d->path == NULL) {
        if (mkdir(d->parent, 0700) != 0 && errno == EEXIST)
            remove_leftovers(d->parent);
        if (!make(d, err))
            return NULL;
    }
    struct strbuf b;
    strbuf_init(&b, 0);
    strbuf_addf(&b, "%s/%lu.core", d->path, ++d->made);
    return strbuf_steal(&b, NULL);
}

void image_store_free(struct image_store *d)
{
    if (d == NULL)
        return;
    if (d->path != NULL) {
        remove_directory(AT_FDCWD, d->path, d->lock);
        close(d->lock);
    }
    free(d->path);
    free(d->parent);
    free(d);
}

void stored_image_drop(struct stored_image *i)
{
    if (i->path != NULL)
        unlink(i->path);
    free(i->path);
    free(i->directory);
    i->path = i->directory = NULL;
}
