/*
 * Reads the small text files of /proc and /sys.
 */
#ifndef PROC_KERNEL_FILE_H
#define PROC_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * kernel_file_number(path, key, number):
 * Read the number after ${key} at the start of a line; if the key is "", the first line that is a number.
 *
 * Returns     false, and ${number} unchanged, if the file cannot be read or has no such line
 */
bool kernel_file_number(const char *path, const char *key, int64_t *number);

struct kernel_number {
    const char *key; /* as above */
    int64_t *number;
};

/* kernel_file_numbers(path, wanted, count): the same for several numbers, which the file has in this order;
 * it is read once. Returns false if one was not found; those before it are set. */
bool kernel_file_numbers(const char *path, const struct kernel_number *wanted, size_t count);

/* kernel_file_line(path, line, size): read the first line into ${line}, cut to ${size} - 1 bytes, without
 * its newline. Returns false, and ${line} unchanged, if there is none. */
bool kernel_file_line(const char *path, char *line, size_t size);

/*
 * kernel_file_group(root, controller, path, size):
 * Read the path of the control group of this process, below the mount of its hierarchy: "/user.slice".
 *
 * root        borrowed: "", or for tests a directory that contains proc/
 * controller  "" for version 2, otherwise that of a hierarchy of version 1
 * Returns     false if the process is in no such group, or if the path does not fit in ${size} bytes
 * Source      cgroups(7), /proc/pid/cgroup
 */
bool kernel_file_group(const char *root, const char *controller, char *path, size_t size);

#endif
