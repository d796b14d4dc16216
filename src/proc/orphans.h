/*
 * What the programs of a session leave behind: processes whose parent has ended, which makes them children of
 * the server.
 */
#ifndef PROC_ORPHANS_H
#define PROC_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

struct children;
struct orphans;

/* orphans_new(loop). orphans_free(o): those that are still to be killed are not. */
struct orphans *orphans_new(uv_loop_t *loop);
void orphans_free(struct orphans *o);

/* orphans_list(children, variable, out, capacity): the pids of our children that have no owner among
 * ${children} and had ${variable}, "NAME=VALUE", in the environment that they were started with. Returns the
 * number written. */
size_t orphans_list(struct children *children, const char *variable, pid_t *out, size_t capacity);

/* orphans_end(o, children, variable): send SIGKILL to all of these and to their descendants. Of very many,
 * the last follow from the loop. */
void orphans_end(struct orphans *o, struct children *children, const char *variable);

#endif
