/*
 * Runs one program to its end: its input given at once, its output kept, its time limited.
 */
#ifndef CLI_RUN_PROGRAM_H
#define CLI_RUN_PROGRAM_H

#include <stdbool.h>

#include "base/errors.h"
#include "base/strbuf.h"

struct program_result {
    int status;           /* as from waitpid() */
    struct strbuf output; /* the first MiB of its standard output */
    struct strbuf errors; /* the first 64 KiB of its standard error */
};

/*
 * run_program(argv, input, limit_ms, out, err):
 * Run a program in its own process group, write ${input} to it and wait until it has closed its output and
 * ended. When the time is up, the group is killed.
 *
 * argv        borrowed; argv[0] is a path
 * input       borrowed
 * out         filled in; needs program_result_fini(), also after a failure
 * Errors      ERR_START, ERR_SYSTEM, ERR_LIMIT (it took too long)
 */
bool run_program(const char *const *argv, const char *input, int limit_ms, struct program_result *out,
                 struct err *err);
void program_result_fini(struct program_result *result);

#endif
