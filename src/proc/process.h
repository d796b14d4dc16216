/*
 * Facts about a running process. Known on Linux only.
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

/* process_time_ms(pid): the processor time it has used, in milliseconds; 0 if it is not known. */
uint64_t process_time_ms(pid_t pid);

/* process_state(pid): a letter: 'R' runs or would if it got a processor, 'D' waits for the disk, others wait
 * for something else or are stopped. '?' if it is not known. */
char process_state(pid_t pid);

/* process_directory(pid): the directory it works in; given. NULL if it is not known or was removed. */
char *process_directory(pid_t pid);

/* process_has_variable(pid, variable): was it started with "NAME=VALUE" in its environment? */
bool process_has_variable(pid_t pid, const char *variable);

/* process_name(pid, name, size): the name of its program, at most 15 bytes, into ${name}; "?" if it is not
 * known. */
void process_name(pid_t pid, char *name, size_t size);

#endif
