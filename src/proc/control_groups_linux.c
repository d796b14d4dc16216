/*
 * Writes to the files of cgroup version 2.
 */
#include "proc/control_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "proc/kernel_file.h"

#define SERVER "server"
#define LONGEST_NAME 64

/* Where version 2 is mounted: by itself, or beside version 1. */
static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

static const char *const controllers[] = {"memory", "pids", "cpu"};

struct control_groups {
    char directory[PATH_MAX];
    uint64_t made;
    struct list ended; /* of struct control_group: without processes of ours, but not removed yet */
};

struct control_group {
    struct list node; /* in ${groups->ended} */
    struct control_groups *groups;
    char name[LONGEST_NAME];
};

/* ${group}: its name, or "" for the server's own. Returns false with errno set. */
static bool put(const struct control_groups *g, const char *group, const char *file, const char *text)
{
    char path[PATH_MAX + LONGEST_NAME + NAME_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", g->directory, group, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return n >= 0;
}

static bool put_number(const struct control_groups *g, const char *group, const char *file, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return put(g, group, file, text);
}

static bool make(const struct control_groups *g, const char *name)
{
    char path[PATH_MAX + LONGEST_NAME];
    snprintf(path, sizeof path, "%s/%s", g->directory, name);
    return mkdir(path, 0700) == 0;
}

static bool take_away(const struct control_groups *g, const char *name)
{
    char path[PATH_MAX + LONGEST_NAME];
    snprintf(path, sizeof path, "%s/%s", g->directory, name);
    return rmdir(path) == 0 || errno == ENOENT;
}

static bool find_directory(struct control_groups *g)
{
    char own[PATH_MAX], path[2 * PATH_MAX];
    if (!kernel_file_group("", "", own, sizeof own))
        return false;
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        snprintf(path, sizeof path, "%s%s/cgroup.controllers", mounts[i], strcmp(own, "/") == 0 ? "" : own);
        if (access(path, F_OK) != 0 || strlen(path) >= sizeof g->directory)
            continue;
        *strrchr(path, '/') = '\0';
        strcpy(g->directory, path);
        return true;
    }
    return false;
}

/* Is ${word} one of the words of ${line}? */
static bool has_word(const char *line, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at += len)
        if ((at == line || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static bool enable_controllers(const struct control_groups *g, struct err *err)
{
    char path[PATH_MAX + 32], available[256] = "", text[32];
    snprintf(path, sizeof path, "%s/cgroup.controllers", g->directory);
    kernel_file_line(path, available, sizeof available);
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        snprintf(text, sizeof text, "+%s", controllers[i]);
        if (!has_word(available, controllers[i]))
            log_warning("control groups: %s has no %s controller, so sessions are not limited in that",
                        g->directory, controllers[i]);
        else if (!put(g, "", "cgroup.subtree_control", text))
            return err_set_errno(err, ERR_SYSTEM, errno,
                                 "--control-groups: cannot pass on the %s controller of %s%s", controllers[i],
                                 g->directory, errno == EBUSY ? ", in which there are other processes" : "");
    }
    return true;
}

static bool begin(struct control_groups *g, struct err *err)
{
    if (!find_directory(g))
        return err_set(err, ERR_SYSTEM, "--control-groups: no control groups of version 2 are mounted in %s",
                       mounts[0]);
    if ((!make(g, SERVER) && errno != EEXIST) || !put(g, SERVER, "cgroup.procs", "0"))
        return err_set_errno(
            err, ERR_SYSTEM, errno,
            "--control-groups: cannot make groups in %s, which a service manager must delegate to the "
            "server (for systemd: Delegate=yes)",
            g->directory);
    return enable_controllers(g, err);
}

struct control_groups *control_groups_new(struct err *err)
{
    struct control_groups *g = xcalloc(1, sizeof *g);
    list_init(&g->ended);
    if (begin(g, err))
        return g;
    free(g);
    return NULL;
}

/* The processes in a group end a little after they were killed, and until then it cannot be removed. So it is
 * tried again with each group that comes or goes. */
static void remove_ended(struct control_groups *g)
{
    list_each(struct control_group, group, &g->ended, node) {
        if (!take_away(g, group->name))
            continue;
        list_remove(&group->node);
        free(group);
    }
}

void control_groups_free(struct control_groups *g)
{
    if (g == NULL)
        return;
    remove_ended(g);
    while (!list_is_empty(&g->ended)) {
        struct control_group *group = list_entry(g->ended.next, struct control_group, node);
        list_remove(&group->node);
        free(group);
    }
    free(g);
}

/* Without the controller there is no such file, which control_groups_new() has logged. */
static void limit(const struct control_group *group, const char *file, uint64_t most)
{
    if (!put_number(group->groups, group->name, file, most) && errno != ENOENT)
        log_warning("control group %s: %s: %s", group->name, file, strerror(errno));
}

struct control_group *control_group_new(struct control_groups *g, const struct control_group_limits *limits)
{
    struct control_group *group = xcalloc(1, sizeof *group);
    remove_ended(g);
    list_init(&group->node);
    group->groups = g;
    snprintf(group->name, sizeof group->name, "session-%d-%" PRIu64, (int)getpid(), ++g->made);
    if (!make(g, group->name)) {
        log_warning("cannot make the control group %s/%s: %s", g->directory, group->name, strerror(errno));
        free(group);
        return NULL;
    }
    limit(group, "memory.max", limits->most_bytes);
    limit(group, "pids.max", limits->most_tasks);
    return group;
}

void control_group_add(struct control_group *group, pid_t pid)
{
    if (!put_number(group->groups, group->name, "cgroup.procs", (uint64_t)pid))
        log_warning("cannot move process %d to the control group %s: %s", (int)pid, group->name,
                    strerror(errno));
}

void control_group_free(struct control_group *group)
{
    if (group == NULL)
        return;
    struct control_groups *g = group->groups;
    if (!put(g, group->name, "cgroup.kill", "1"))
        log_warning("cannot kill the control group %s: %s", group->name, strerror(errno));
    list_append(&g->ended, &group->node);
    remove_ended(g);
}
