/*
 * Responsible for the saves of a directory as a whole: listing them, and removing old automatic ones, which
 * no client may ever ask for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "session/store/saved.h"

#define DESCRIPTION ".json"

#define MOST_READ 100000 /* entries of the directory */

static void consider(struct saved_names *all, DIR *directory, const char *file,
                     bool (*is_meant)(const char *name))
{
    struct saved_name one;
    struct stat status;
    size_t len = strlen(file), suffix = strlen(DESCRIPTION);
    if (len <= suffix || strcmp(file + len - suffix, DESCRIPTION) != 0)
        return;
    snprintf(one.name, sizeof one.name, "%.*s", (int)(len - suffix), file);
    if (!is_meant(one.name) || fstatat(dirfd(directory), file, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    one.when = status.st_mtim;
    all->items = xrealloc(all->items, (all->count + 1) * sizeof one);
    all->items[all->count++] = one;
}

static int newest_first(const void *a, const void *b)
{
    const struct timespec *one = &((const struct saved_name *)a)->when;
    const struct timespec *other = &((const struct saved_name *)b)->when;
    if (one->tv_sec != other->tv_sec)
        return one->tv_sec < other->tv_sec ? 1 : -1;
    return (one->tv_nsec < other->tv_nsec) - (one->tv_nsec > other->tv_nsec);
}

struct saved_names saved_list(const struct saved_store *store, bool (*is_meant)(const char *name))
{
    struct saved_names all = {NULL, 0};
    DIR *directory = opendir(saved_store_directory(store));
    if (directory == NULL)
        return all;
    struct dirent *e;
    for (size_t i = 0; i < MOST_READ && (e = readdir(directory)) != NULL; i++)
        consider(&all, directory, e->d_name, is_meant);
    closedir(directory);
    if (all.count > 0)
        qsort(all.items, all.count, sizeof all.items[0], newest_first);
    return all;
}

void saved_trim(struct saved_store *store, bool (*is_meant)(const char *name), size_t most,
                int64_t most_age_s)
{
    struct saved_names found = saved_list(store, is_meant);
    size_t removed = 0;
    time_t now = time(NULL);
    for (size_t i = 0; i < found.count; i++)
        if (i >= most || (int64_t)now - found.items[i].when.tv_sec > most_age_s) {
            saved_remove(store, found.items[i].name);
            removed++;
        }
    if (removed > 0)
        log_info("removed %zu excess or old saves from %s", removed, saved_store_directory(store));
    free(found.items);
}
