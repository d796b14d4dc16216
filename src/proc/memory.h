/*
 * How much memory is left to the machine, or to the control group (container, unit) that the server runs
 * in. Known on Linux only; elsewhere memory is never short.
 */
#ifndef PROC_MEMORY_H
#define PROC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_left {
    uint64_t total, available; /* bytes */
};

/*
 * memory_read(root, left):
 * Read how much memory this process may still take under the tightest bound: the machine, or one of its
 * control groups, of version 1 or 2. Memory that the kernel can reclaim without swapping counts as
 * available.
 *
 * root        borrowed: "", or for tests a directory that contains proc/ and sys/
 * Returns     false if nothing is known
 * Source      proc(5), /proc/meminfo; Linux, Documentation/admin-guide/cgroup-v2.rst and
 *             cgroup-v1/memory.rst
 */
bool memory_read(const char *root, struct memory_left *left);

/* memory_is_short(): less than a twentieth is available. */
bool memory_is_short(void);

#endif
