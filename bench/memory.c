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
    return read_kib(pid, "smaps_rollup", (const char *const[]){"Pss", "Private_Dirty", NULL},
                    (double *const[]){&m->pss_mib, &m->private_dirty_mib}) &&
           read_kib(pid, "status", (const char *const[]){"VmPTE", NULL},
                    (double *const[]){&m->page_tables_mib});
}

static bool is_lisp(pid_t pid)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool is = fgets(comm, sizeof comm, f) != NULL && strcmp(comm, "sbcl\n") == 0;
    fclose(f);
    return is;
}

size_t memory_sum_children(pid_t pid, size_t first, struct memory *sum)
{
    char path[64];
    *sum = (struct memory){0};
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = 0;
    int child;
    /* The kernel appends a new child at the end of the list. */
    while (f != NULL && fscanf(f, "%d", &child) == 1) {
        struct memory m;
        if (!is_lisp(child) || n++ < first || !memory_read(child, &m))
            continue;
        sum->pss_mib += m.pss_mib;
        sum->private_dirty_mib += m.private_dirty_mib;
        sum->page_tables_mib += m.page_tables_mib;
    }
    if (f != NULL)
        fclose(f);
    return n;
}
