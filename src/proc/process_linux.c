/*
 * /proc/PID/smaps_rollup, /proc/PID/stat and /proc/PID/cwd, and the clock of a process.
 */
#include "proc/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/user_directory.h"
#include "proc/kernel_file.h"

#define ENDING                                                                                               \
    0x4U /* PF_EXITING, the kernel's flag of a process that ends, set before it closes its files             \
          */

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

bool process_stat_parse(const char *line, struct process_stat *stat)
{
    /* PID (NAME) STATE and numbers: the name may contain parentheses. */
    const char *end = strrchr(line, ')');
    unsigned flags;
    unsigned long long started;
    if (end == NULL ||
        sscanf(end + 1, " %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &stat->state, &flags, &started) != 3)
        return false;
    stat->is_ending = (flags & ENDING) != 0 || stat->state == 'Z' || stat->state == 'X';
    stat->started_ticks = started;
    return true;
}

bool process_stat(pid_t pid, struct process_stat *stat)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    return process_stat_parse(line, stat);
}

char process_state(pid_t pid)
{
    struct process_stat stat;
    return process_stat(pid, &stat) ? stat.state : '?';
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
    if (is_directory(directory))
        return directory;
    free(directory);
    return NULL;
}

static int open_environment(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool process_shows_environment(pid_t pid)
{
    int fd = open_environment(pid);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Read the whole environment in pieces. A NUL is before and behind each variable, and so it is with
 * ${variable}, so that no longer name or value matches. */
bool process_has_variable(pid_t pid, const char *variable)
{
    size_t len = strlen(variable), needle_len = 1 + len + (variable[len - 1] != '=');
    char needle[256] = "", buffer[8192] = "";
    int fd = needle_len < sizeof needle ? open_environment(pid) : -1;
    if (fd < 0)
        return false;
    memcpy(needle + 1, variable, len);
    size_t kept = 1;
    bool is_found = false;
    ssize_t n;
    while (!is_found && (n = read(fd, buffer + kept, sizeof buffer - kept)) > 0) {
        size_t there = kept + (size_t)n;
        is_found = memmem(buffer, there, needle, needle_len) != NULL;
        kept = there < needle_len ? there : needle_len;
        memmove(buffer, buffer + there - kept, kept);
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
