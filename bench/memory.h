/*
 * How much memory a process uses, and which children it has, from /proc.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory {
    double pss_mib;           /* each page divided by the number of processes that share it */
    double private_dirty_mib; /* what is freed when the process ends */
    double page_tables_mib;   /* the kernel's, not included in the others */
};

/* memory_read(pid, m): false if the process has ended or may not be inspected. */
bool memory_read(pid_t pid, struct memory *m);

/* memory_sum_children(pid, first, sum): set ${sum} to the sum over the Lisp processes among the children of
 * ${pid}, from number ${first} on, oldest first; returns how many there are. */
size_t memory_sum_children(pid_t pid, size_t first, struct memory *sum);

#endif
