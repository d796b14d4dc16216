/*
 * Starting a program: fork, the new process's descriptors, limits, directory and sandbox, exec. Keeps no
 * record of the process.
 */
#ifndef PROC_SPAWN_H
#define PROC_SPAWN_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/errors.h"

struct sandbox;

struct spawn_spec {
    const char *const *argv;        /* argv[0] is looked up in PATH unless it has a slash */
    const char *const *environment; /* NAME=VALUE to add or replace; NULL-terminated, may be NULL */
    const char *directory;          /* NULL: the server's */
    uint64_t largest_file_bytes;    /* which it may write; 0: as ours. More ends it by SIGXFSZ */
    const struct sandbox *sandbox;  /* NULL: none. In one it gets no variables that look like secrets */
    int descriptors[4]; /* borrowed: they become 0, 1, 2, 3 of the child; -1: /dev/null (0 to 2) or closed (3)
                         */
};

/*
 * spawn_program(spec, files, err):
 * Start a program. It gets SIGKILL when the server dies, default signal handling, and no descriptor above 3.
 *
 * files       borrowed; its limit of open files
 * Returns     its pid; -1 with ${err} set if it could not be executed (the child reports exec's errno through
 * a close-on-exec pipe, so a missing program is an error here, not an unclear exit code)
 */
pid_t spawn_program(const struct spawn_spec *spec, const struct rlimit *files, struct err *err);

#endif
