/*
 * /proc/PID/smaps_rollup, status and task/PID/children.
 */
#include "memory.h"

#include <stdio.h>
#include <string.h>

/* "Key:   123 kB" lines of a file of /proc; false if it cannot be opened. */
static bool read_kib(pid_t pid, const char *file, const char *const *keys, double *const *mib)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (fgets(line, sizeof line, f) != NULL) {
        for (size_t i = 0; keys[i] != NULL; i++) {
            unsigned long kib;
            size_t len = strlen(keys[i]);
            if (strncmp(line, keys[i], len) == 0 && line[len] == ':' &&
                sscanf(line + len + 1, "%lu", &kib) == 1)
                *mib[i] = (double)kib / 1024;
        }
    }
    fclose(f);
    return true;
}

bool memory_read(pid_t pid, struct memory *m)
{
    *m = (struct memory){0};
    return read_kib(pid, "smaps_rollup", (const char *const[]){"Rss", "Pss", "Private_Dirty", NULL},
                    (double *const[]){&m->rss_mib, &m->pss_mib, &m->private_dirty_mib}) &&
           read_kib(pid, "status", (const char *const[]){"VmPTE", NULL},
                    (double *const[]){&m->page_tables_mib});
}

void memory_sum(struct memory *to, const struct memory *m)
{
    to->rss_mib += m->rss_mib;
    to->pss_mib += m->pss_mib;
    to->private_dirty_mib += m->private_dirty_mib;
    to->page_tables_mib += m->page_tables_mib;
}

static bool has_name(pid_t pid, const char *name)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    if (fgets(comm, sizeof comm, f) != NULL)
        comm[strcspn(comm, "\n")] = '\0';
    fclose(f);
    return strcmp(comm, name) == 0;
}

size_t memory_children(pid_t pid, const char *name, pid_t *out, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    size_t n = 0;
    int child;
    /* The kernel appends a new child at the end of the list. */
    while (n < capacity && fscanf(f, "%d", &child) == 1)
        if (has_name(child, name))
            out[n++] = child;
    fclose(f);
    return n;
}

#define MOST_SUMMED 64

size_t memory_sum_children(pid_t pid, const char *name, size_t first, struct memory *sum)
{
    pid_t children[MOST_SUMMED];
    struct memory m;
    size_t n = memory_children(pid, name, children, MOST_SUMMED);
    *sum = (struct memory){0};
    for (size_t i = first; i < n; i++)
        if (memory_read(children[i], &m))
            memory_sum(sum, &m);
    return n;
}
