/*
 * What the system knows of a running process. Only Linux tells us; elsewhere nothing is known.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* process_memory(pid, bytes): its proportional share of memory: each page divided by the number of processes
 * that have it. False if it is not known. Takes the kernel a walk over its page tables. */
bool process_memory(pid_t pid, uint64_t *bytes);

/* process_directory(pid): the directory it works in; given. NULL if it is not known or was removed. */
char *process_directory(pid_t pid);

#endif
