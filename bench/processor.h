/*
 * How much CPU time a process has used, from /proc: time taken by other processes does not count.
 */
#ifndef BENCH_PROCESSOR_H
#define BENCH_PROCESSOR_H

#include <sys/types.h>

/* processor_ms(pid): milliseconds of ${pid} and of the children it has waited for; 0 if it has ended. */
double processor_ms(pid_t pid);

#endif
