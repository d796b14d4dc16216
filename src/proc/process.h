/*
 * Facts about a running process. Known on Linux only.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* process_memory(pid, bytes): its proportional set size: each page divided by the number of processes
 * that share it. False if unknown. The kernel walks all of its page tables. */
bool process_memory(pid_t pid, uint64_t *bytes);

/* process_time_ms(pid): the CPU time it has used, in milliseconds; 0 if unknown. */
uint64_t process_time_ms(pid_t pid);

/* process_state(pid): a letter: 'R' is running or ready to run, 'D' waits for the disk, others wait
 * for something else or are stopped. '?' if unknown. */
char process_state(pid_t pid);

/* process_stat(pid, stat): read /proc/PID/stat; false if there is no such process or it is unknown.
 * process_stat_parse(line, stat): the same from a line that the process has read itself. */
struct process_stat {
    char state;
    bool is_ending;         /* its threads are ending, or have ended */
    uint64_t started_ticks; /* since the kernel started: with the pid, it tells a process from all others */
};
bool process_stat(pid_t pid, struct process_stat *stat);
bool process_stat_parse(const char *line, struct process_stat *stat);

/* process_directory(pid): its working directory; given. NULL if unknown or removed. */
char *process_directory(pid_t pid);

/* process_shows_environment(pid): whether we may read with what environment it was started: code can forbid
 * that for its own process. */
bool process_shows_environment(pid_t pid);

/* process_has_variable(pid, variable): whether it was started with "NAME=VALUE" in its environment, or for
 * "NAME=" with the variable of that name. */
bool process_has_variable(pid_t pid, const char *variable);

/* process_name(pid, name, size): copy the name of its program, at most 15 bytes, to ${name}; "?" if
 * unknown. */
void process_name(pid_t pid, char *name, size_t size);

#endif
