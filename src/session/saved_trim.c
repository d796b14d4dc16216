/*
 * Responsible for removing old automatic saves, which nobody may ever ask for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "session/saved.h"

#define DESCRIPTION ".json"

struct candidate {
    char name[NAME_MAX + 1];
    time_t when;
};

struct candidates {
    struct candidate *items;
    size_t count;
};

static void consider(struct candidates *c, DIR *directory, const char *file,
                     bool (*is_meant)(const char *name))
{
    struct candidate one;
    struct stat status;
    size_t len = strlen(file), suffix = strlen(DESCRIPTION);
    if (len <= suffix || strcmp(file + len - suffix, DESCRIPTION) != 0)
        return;
    snprintf(one.name, sizeof one.name, "%.*s", (int)(len - suffix), file);
    if (!is_meant(one.name) || fstatat(dirfd(directory), file, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    one.when = status.st_mtime;
    c->items = xrealloc(c->items, (c->count + 1) * sizeof one);
    c->items[c->count++] = one;
}

static int newest_first(const void *a, const void *b)
{
    time_t one = ((const struct candidate *)a)->when, other = ((const struct candidate *)b)->when;
    return (one < other) - (one > other);
}

void saved_trim(struct saved_store *store, bool (*is_meant)(const char *name), size_t most,
                int64_t most_age_s)
{
    struct candidates found = {NULL, 0};
    DIR *directory = opendir(saved_store_directory(store));
    if (directory == NULL)
        return;
    for (struct dirent *e; (e = readdir(directory)) != NULL;)
        consider(&found, directory, e->d_name, is_meant);
    closedir(directory);
    if (found.count > 0)
        qsort(found.items, found.count, sizeof found.items[0], newest_first);
    size_t removed = 0;
    time_t now = time(NULL);
    for (size_t i = 0; i < found.count; i++)
        if (i >= most || (int64_t)now - found.items[i].when > most_age_s) {
            saved_remove(store, found.items[i].name);
            removed++;
        }
    if (removed > 0)
        log_info("removed %zu excess or old saves from %s", removed, saved_store_directory(store));
    free(found.items);
}
