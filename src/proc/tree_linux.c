/*
 * Descendants of a process, from /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN, on in every distribution
 * kernel).
 */
#include "proc/tree.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

#define MOST_DEPTH 32

static size_t children_of_thread(pid_t pid, const char *thread, pid_t *out, size_t capacity)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, thread);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    size_t n = 0;
    int child;
    while (n < capacity && fscanf(f, "%d", &child) == 1)
        out[n++] = child;
    fclose(f);
    return n;
}

size_t tree_children(pid_t pid, pid_t *out, size_t capacity)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return 0;
    size_t n = 0;
    const struct dirent *entry;
    while ((entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            n += children_of_thread(pid, entry->d_name, out + n, capacity - n);
    closedir(threads);
    return n;
}

pid_t *tree_all_children(pid_t pid, size_t *count)
{
    pid_t *found = NULL;
    size_t capacity = 128;
    do {
        capacity *= 2;
        found = xrealloc(found, capacity * sizeof *found);
        *count = tree_children(pid, found, capacity);
    } while (*count == capacity);
    return found;
}

/* What a hostile process can nest before it is stopped bounds the depth; children_free() catches the rest
 * as orphans. */
static void kill_tree(pid_t pid, int depth)
{
    size_t n = 0;
    kill(pid, SIGSTOP); /* so that it cannot fork while its children are listed */
    pid_t *found = depth <= MOST_DEPTH ? tree_all_children(pid, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        kill_tree(found[i], depth + 1);
    free(found);
    kill(pid, SIGKILL);
}

void tree_kill(pid_t pid)
{
    kill_tree(pid, 0);
}
