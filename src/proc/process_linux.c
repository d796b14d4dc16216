/*
 * /proc/PID/smaps_rollup, /proc/PID/stat and /proc/PID/cwd, and the clock of a process.
 */
#include "proc/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "proc/kernel_file.h"

bool process_memory(pid_t pid, uint64_t *bytes)
{
    char path[64];
    int64_t kib;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    if (!kernel_file_number(path, "Pss:", &kib))
        return false;
    *bytes = (uint64_t)kib << 10;
    return true;
}

uint64_t process_time_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

char process_state(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return '?';
    char line[512];
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    /* PID (NAME) STATE: the name may contain parentheses. */
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] != '\0' ? end[2] : '?';
}

char *process_directory(pid_t pid)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    char path[PATH_MAX];
    ssize_t n = readlink(link, path, sizeof path);
    if (n <= 0 || n == sizeof path)
        return NULL;
    char *directory = xmemdup0(path, (size_t)n);
    struct stat s;
    if (stat(directory, &s) == 0 && S_ISDIR(s.st_mode))
        return directory;
    free(directory);
    return NULL;
}

/* Read the whole environment in pieces. Each variable ends with a NUL, and so does ${variable} if it has a
 * value, so that no longer value matches. */
bool process_has_variable(pid_t pid, const char *variable)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char buffer[8192];
    size_t kept = 0, variable_len = strlen(variable);
    variable_len += variable[variable_len - 1] != '=';
    bool is_found = false;
    ssize_t n;
    while (!is_found && (n = read(fd, buffer + kept, sizeof buffer - kept)) > 0) {
        size_t len = kept + (size_t)n;
        is_found = memmem(buffer, len, variable, variable_len) != NULL;
        kept = len < variable_len ? len : variable_len;
        memmove(buffer, buffer + len - kept, kept);
    }
    close(fd);
    return is_found;
}

void process_name(pid_t pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (!kernel_file_line(path, name, size))
        snprintf(name, size, "?");
}
