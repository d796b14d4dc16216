/*
 * /proc/PID/smaps_rollup and /proc/PID/cwd.
 */
#include "proc/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

bool process_memory(pid_t pid, uint64_t *bytes)
{
    char path[64], line[128];
    unsigned long long kib;
    bool is_known = false;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (!is_known && fgets(line, sizeof line, f) != NULL)
        is_known = sscanf(line, "Pss: %llu", &kib) == 1;
    fclose(f);
    if (is_known)
        *bytes = (uint64_t)kib << 10;
    return is_known;
}

char *process_directory(pid_t pid)
{
    char link[64], path[PATH_MAX];
    struct stat s;
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(link, path, sizeof path);
    if (n <= 0 || n == sizeof path)
        return NULL;
    char *directory = xmemdup0(path, (size_t)n);
    if (stat(directory, &s) == 0 && S_ISDIR(s.st_mode))
        return directory;
    free(directory);
    return NULL;
}
