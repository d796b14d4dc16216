/*
 * /proc/PID/stat.
 */
#include "processor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

double processor_ms(pid_t pid)
{
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    /* The command's name is in parentheses and may contain anything. */
    const char *rest = strrchr(line, ')');
    unsigned long user, system, children_user, children_system;
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user,
                               &system, &children_user, &children_system) != 4)
        return 0;
    return (double)(user + system + children_user + children_system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}
