/*
 * The agent's core: an SBCL image that contains the agent. There is one for each pair of SBCL and agent; its
 * name identifies both.
 */
#ifndef LISP_CORE_H
#define LISP_CORE_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"

struct children;
struct core_build;

/*
 * core_find_lisp(program, err): the absolute path of ${program}, looked up in PATH unless it has a slash.
 *
 * Returns     given; NULL with ${err} set (ERR_NO_LISP) to a sentence that names what to install
 */
char *core_find_lisp(const char *program, struct err *err);

/* core_find_program(name, path): the path of an executable file in the directories of ${path}, which are
 * separated by colons; given. NULL if there is none, or if ${path} is NULL. */
char *core_find_program(const char *name, const char *path);

/* core_name(lisp): "agent-KEY.core"; given. */
char *core_name(const char *lisp);

/*
 * core_path(lisp, exists, err):
 * Find where the core for this SBCL is or should be: beside the server's program, in ../lib/cl-mcp-server,
 * or in the user's cache ($XDG_CACHE_HOME or ~/.cache, then /tmp), as agent-KEY.core. KEY depends on the
 * program's path, size and time and on the agent's sources.
 *
 * lisp        borrowed; from core_find_lisp()
 * exists      set: whether the file exists
 * Returns     given path; NULL with ${err} set if no directory is writable
 */
char *core_path(const char *lisp, bool *exists, struct err *err);

/*
 * core_build(loop, children, lisp, path, limit_ms, done, arg, err):
 * Build a core: run ${lisp} with the agent's sources, write the result under a temporary name and
 * rename it. Takes seconds.
 *
 * limit_ms    time limit, from when the Lisp has loaded the last of the agent's files; longer if it gets no
 *             processor (cpu_grace.h); 0: CORE_BUILD_LIMIT_MS, stretched for this machine
 * done        called once from the loop; ${err} is NULL on success, otherwise it quotes the end of the Lisp's
 *             output
 * Returns     a ticket for core_build_cancel(); NULL with ${err} set if the Lisp cannot be run at all
 */
typedef void core_build_done(void *arg, const struct err *err);
#define CORE_BUILD_LIMIT_MS 45000 /* it takes two or three seconds */
struct core_build *core_build(uv_loop_t *loop, struct children *children, const char *lisp, const char *path,
                              int limit_ms, core_build_done *done, void *arg, struct err *err);

/* core_build_cancel(build): kill the Lisp and remove its files; done will not run. NULL does nothing. */
void core_build_cancel(struct core_build *build);

#endif
