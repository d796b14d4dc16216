/*
 * How much memory a process uses, and which children it has, from /proc.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory {
    double rss_mib;
    double pss_mib;           /* each page divided by the number of processes that share it */
    double private_dirty_mib; /* what is freed when the process ends */
    double page_tables_mib;   /* the kernel's, not included in the others */
};

/* memory_read(pid, m): false if the process has ended or may not be inspected. */
bool memory_read(pid_t pid, struct memory *m);

/* memory_sum(to, m): add ${m} to ${to}. */
void memory_sum(struct memory *to, const struct memory *m);

/* memory_children(pid, name, out, capacity): the children of ${pid} whose command is ${name}, oldest first;
 * returns how many. */
size_t memory_children(pid_t pid, const char *name, pid_t *out, size_t capacity);

/* memory_sum_children(pid, name, first, sum): set ${sum} to the sum over those children from number ${first}
 * on, of at most 64; returns how many children there are. */
size_t memory_sum_children(pid_t pid, const char *name, size_t first, struct memory *sum);

#endif
