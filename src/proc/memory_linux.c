/*
 * Reads /proc/meminfo, /proc/self/cgroup and the files of the control groups.
 */
#include "proc/memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/kernel_file.h"

#define SHORT_FRACTION 20
#define MOST_LEVELS 32 /* of nested control groups */

/* A version of control groups: where its hierarchy is mounted, and the names of its files. */
struct hierarchy {
    const char *controller; /* as /proc/self/cgroup names it; "" in version 2 */
    const char *mount, *most, *used, *reclaimable;
};

static const struct hierarchy hierarchies[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
};

static void take_tighter(struct memory_left *left, uint64_t total, uint64_t available)
{
    if (total == 0)
        return;
    if (left->total == 0 || (double)available / (double)total < (double)left->available / (double)left->total)
        *left = (struct memory_left){.total = total, .available = available};
}

static void read_machine(const char *root, struct memory_left *left)
{
    char path[PATH_MAX];
    int64_t total_kib, available_kib;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const struct kernel_number numbers[] = {{"MemTotal:", &total_kib}, {"MemAvailable:", &available_kib}};
    if (kernel_file_numbers(path, numbers, 2) && available_kib > 0)
        take_tighter(left, (uint64_t)total_kib << 10, (uint64_t)available_kib << 10);
}

static bool read_number(const char *directory, const char *name, const char *key, int64_t *number)
{
    char path[PATH_MAX + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return kernel_file_number(path, key, number);
}

static void read_group(const struct hierarchy *h, const char *directory, struct memory_left *left)
{
    int64_t most, used, reclaimable = 0;
    if (!read_number(directory, h->most, "", &most) || !read_number(directory, h->used, "", &used))
        return;
    read_number(directory, "memory.stat", h->reclaimable, &reclaimable);
    used -= reclaimable < used ? reclaimable : used;
    take_tighter(left, (uint64_t)most, used < most ? (uint64_t)(most - used) : 0);
}

/* The group itself and its parents: each may have a limit. */
static void read_groups(const struct hierarchy *h, const char *root, const char *group,
                        struct memory_left *left)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s%s", root, h->mount);
    size_t mount_len = strlen(directory);
    /* In a container, the path may be that outside, while the mount shows the group itself. */
    if (mount_len + strlen(group) < sizeof directory) {
        strcpy(directory + mount_len, group);
        if (access(directory, F_OK) != 0)
            directory[mount_len] = '\0';
    }
    for (int level = 0; level < MOST_LEVELS; level++) {
        read_group(h, directory, left);
        char *slash = strrchr(directory + mount_len, '/');
        if (slash == NULL)
            break;
        *slash = '\0';
    }
}

bool memory_read(const char *root, struct memory_left *left)
{
    char group[PATH_MAX];
    *left = (struct memory_left){0};
    read_machine(root, left);
    for (size_t i = 0; i < sizeof hierarchies / sizeof hierarchies[0]; i++)
        if (kernel_file_group(root, hierarchies[i].controller, group, sizeof group))
            read_groups(&hierarchies[i], root, group, left);
    return left->total > 0;
}

bool memory_is_short(void)
{
    struct memory_left left;
    return memory_read("", &left) && left.available < left.total / SHORT_FRACTION;
}
