/*
 * A temporary directory of the benchmark.
 */
#include "directory.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "peer.h"

void directory_make(char *path)
{
    snprintf(path, DIRECTORY_SIZE, "/tmp/cl-mcp-bench-XXXXXX");
    if (mkdtemp(path) == NULL)
        bench_fail("cannot make a directory in /tmp: %s", strerror(errno));
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return remove(path);
}

void directory_remove(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
