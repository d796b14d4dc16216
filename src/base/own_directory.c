/*
 * A server locks its directory for its whole life (flock). A directory that another process can lock belongs
 * to a server that has died.
 */
#include "base/own_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/remove_tree.h"
#include "base/strbuf.h"

#define ATTEMPTS 5
#define MADE_LEN 6 /* characters of mkdtemp(3) */

/* In a directory that all users share, those of other users stay. */
static void remove_if_left(const char *parent, const char *name)
{
    struct strbuf path = {0};
    struct stat s;
    strbuf_addf(&path, "%s%s", parent, name);
    int fd = open(strbuf_string(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &s) == 0 && s.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(strbuf_string(&path));
    if (fd >= 0)
        close(fd);
    strbuf_fini(&path);
}

/* Remove those whose paths begin like this, "PARENT/PREFIX", taken. */
static void *remove_leftovers(void *beginning)
{
    const char *prefix = strrchr(beginning, '/') + 1;
    char *parent = xmemdup0(beginning, (size_t)(prefix - (char *)beginning));
    DIR *entries = opendir(parent);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            strlen(entry->d_name) == strlen(prefix) + MADE_LEN)
            remove_if_left(parent, entry->d_name);
    if (entries != NULL)
        closedir(entries);
    free(parent);
    free(beginning);
    return NULL;
}

/* A Lisp may have left millions of files, so a separate thread removes them. The server does not wait
 * for it: the next server removes what it has left. */
static void remove_later(char *beginning)
{
    pthread_t thread;
    sigset_t all, before; /* signals are for the loop's thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&thread, NULL, remove_leftovers, beginning) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_detach(thread);
    else
        free(beginning);
}

static char *beginning_of(const char *parent, const char *prefix)
{
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/%s", parent, prefix);
    return strbuf_steal(&path, NULL);
}

char *own_directory_make(const char *parent, const char *prefix, int *lock, struct err *err)
{
    struct strbuf path = {0};
    /* Another server, or a thread for an earlier directory, may take the new one for a leftover before it is
     * locked, and remove it: then make another. */
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct stat s;
        strbuf_clear(&path);
        strbuf_addf(&path, "%s/%sXXXXXX", parent, prefix);
        bool is_made = mkdtemp(path.bytes) != NULL;
        if (!is_made && attempt == 0 && (errno == ENOSPC || errno == EDQUOT)) {
            remove_leftovers(beginning_of(parent, prefix)); /* they may take all the room */
            continue;
        }
        if (!is_made)
            break;
        *lock = open(path.bytes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) == 0 && fstat(*lock, &s) == 0 && s.st_nlink > 0) {
            remove_later(beginning_of(parent, prefix));
            return strbuf_steal(&path, NULL);
        }
        if (*lock >= 0)
            close(*lock);
    }
    err_set_errno(err, ERR_SYSTEM, errno, "cannot make a directory for temporary files in %s", parent);
    strbuf_fini(&path);
    *lock = -1;
    return NULL;
}

void own_directory_remove(char *path, int lock)
{
    if (path == NULL)
        return;
    remove_tree(path);
    close(lock);
    free(path);
}
