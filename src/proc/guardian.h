/*
 * The guardian: a small process that outlives the server for a moment if the server is killed by SIGKILL.
 * The Lisp processes then die by PR_SET_PDEATHSIG, but programs that the user's code has started would
 * survive. The guardian sees the server's end of a pipe close, and kills every process that has the
 * server's mark in its environment.
 */
#ifndef PROC_GUARDIAN_H
#define PROC_GUARDIAN_H

#include <uv.h>

#include "base/errors.h"

struct guardian;

/*
 * guardian_new(loop, err): start it; it is restarted whenever it ends. guardian_free(g): stop it; NULL does
 * nothing. guardian_mark(g): "NAME=VALUE" for the environment of each Lisp; borrowed.
 */
struct guardian *guardian_new(uv_loop_t *loop, struct err *err);
void guardian_free(struct guardian *g);
const char *guardian_mark(const struct guardian *g);

#endif
