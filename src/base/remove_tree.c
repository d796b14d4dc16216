/*
 * Every step is relative to a descriptor of the directory, so a link that replaces a directory leads nowhere.
 * A tree of any depth needs two descriptors and no recursion: the entries of a directory that is not empty
 * are moved to the top first.
 */
#include "base/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own_path.h"

/* A program that keeps creating files is not followed for ever. */
#define MOST_ENTRIES 10000000

static DIR *open_directory(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && directory == NULL)
        close(fd);
    return directory;
}

/* The name of the next entry; NULL after the last, and when ${seen}, the number of entries so far, is
 * ${most}.
 */
static const char *next_name(DIR *directory, unsigned long *seen, unsigned long most)
{
    const struct dirent *entry;
    while (*seen < most && (entry = readdir(directory)) != NULL) {
        ++*seen;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    }
    return NULL;
}

static bool remove_entry(int directory, const char *name)
{
    return unlinkat(directory, name, 0) == 0 || unlinkat(directory, name, AT_REMOVEDIR) == 0;
}

/* Remove the entry ${name} of ${top}, or move its contents to ${top}. False if nothing has changed. */
static bool take_apart(int top, const char *name, unsigned long *seen)
{
    if (remove_entry(top, name))
        return true;
    DIR *directory = open_directory(top, name);
    bool is_changed = false;
    const char *inner;
    while (directory != NULL && (inner = next_name(directory, seen, MOST_ENTRIES)) != NULL) {
        char up[48];
        snprintf(up, sizeof up, ".removed-%d-%lu", (int)getpid(), *seen);
        is_changed = remove_entry(dirfd(directory), inner) ||
                     renameat2(dirfd(directory), inner, top, up, RENAME_NOREPLACE) == 0 || is_changed;
    }
    if (directory != NULL)
        closedir(directory);
    return remove_entry(top, name) || is_changed;
}

void remove_tree(const char *path)
{
    unsigned long seen = 0;
    bool is_changed = true;
    /* Each pass takes the tree apart by one level at least. */
    while (is_changed) {
        DIR *top = open_directory(AT_FDCWD, path);
        const char *name;
        is_changed = false;
        while (top != NULL && (name = next_name(top, &seen, MOST_ENTRIES)) != NULL)
            is_changed = take_apart(dirfd(top), name, &seen) || is_changed;
        if (top != NULL)
            closedir(top);
    }
    rmdir(path);
}

bool remove_files(const char *path, size_t given_len, unsigned long most, remove_choice *is_meant, void *arg)
{
    int fd = own_path_open(path, given_len, O_RDONLY | O_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    unsigned long seen = 0;
    const char *name;
    if (directory == NULL)
        return false;
    while ((name = next_name(directory, &seen, most)) != NULL)
        if (is_meant(arg, fd, name))
            unlinkat(fd, name, 0);
    closedir(directory);
    return true;
}

struct old {
    const char *pattern;
    time_t before;
};

static bool is_old(void *arg, int directory, const char *name)
{
    const struct old *old = arg;
    struct stat s;
    return fnmatch(old->pattern, name, 0) == 0 && fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
           s.st_mtime < old->before;
}

void remove_old_files(const char *path, size_t given_len, const char *pattern, time_t before)
{
    remove_files(path, given_len, MOST_ENTRIES, is_old, &(struct old){pattern, before});
}
