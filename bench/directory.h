/*
 * A temporary directory of the benchmark, for the files of its servers.
 */
#ifndef BENCH_DIRECTORY_H
#define BENCH_DIRECTORY_H

#define DIRECTORY_SIZE 64

/* directory_make(path): make one; ${path} has DIRECTORY_SIZE bytes. directory_remove(path): with all in
 * it. */
void directory_make(char *path);
void directory_remove(const char *path);

#endif
