/*
 * How much memory the machine has left, or the control group (container, unit) that the server runs in. Known
 * on Linux only; elsewhere there is always enough.
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
 * What is left to this process where it is tightest: of the machine, or of one of the control groups that it
 * is in, of version 1 or 2. What the kernel can take back without swapping counts as available.
 *
 * root        borrowed: "", or a directory in which proc/ and sys/ are looked for, for tests
 * Returns     false if nothing is known
 * Source      proc(5), /proc/meminfo; Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst
 */
bool memory_read(const char *root, struct memory_left *left);

/* memory_is_short(): less than a twentieth is available. */
bool memory_is_short(void);

#endif
