/*
 * MemAvailable of /proc/meminfo: the kernel's own estimate of what can be had without swapping.
 */
#include "proc/memory.h"

#include <stdio.h>

#define SHORT_FRACTION 20

bool memory_is_short(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    if (f == NULL)
        return false;
    char line[128];
    unsigned long long total = 0, available = 0;
    while (fgets(line, sizeof line, f) != NULL && available == 0) {
        sscanf(line, "MemTotal: %llu", &total);
        sscanf(line, "MemAvailable: %llu", &available);
    }
    fclose(f);
    return available > 0 && available < total / SHORT_FRACTION;
}
