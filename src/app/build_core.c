/*
 * Responsible for --build-core: runs a loop for one build.
 */
#include "app/build_core.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/errors.h"
#include "base/log.h"
#include "lisp/core.h"
#include "proc/child.h"
#include "proc/loop_handle.h"

enum { LIMIT_MS = 300000 }; /* no client waits for this build, and the machine may be busy */

static void on_core_built(void *arg, const struct err *err)
{
    if (err != NULL)
        log_error("%s", err->message);
    *(int *)arg = err != NULL;
}

static void on_pulse(uv_timer_t *timer)
{
}

int build_core(const char *lisp_name, const char *directory)
{
    uv_loop_t *loop = uv_default_loop();
    struct err err;
    struct children *children = children_new(loop, &err);
    char *lisp = children == NULL ? NULL : core_find_lisp(lisp_name, &err);
    char *name = lisp == NULL ? NULL : core_name(lisp);
    char path[PATH_MAX];
    int status = -1;
    if (name != NULL)
        snprintf(path, sizeof path, "%.3000s/%s", directory, name);
    if (name == NULL ||
        core_build(loop, children, lisp, path, LIMIT_MS, on_core_built, &status, &err) == NULL) {
        log_error("%s", err.message);
        status = 1;
    }
    /* The children's own handles do not keep the loop alive; this timer does. */
    uv_timer_t *pulse = loop_handle_timer(loop, NULL);
    uv_timer_start(pulse, on_pulse, 1000, 1000);
    while (status < 0)
        uv_run(loop, UV_RUN_ONCE);
    loop_handle_free(pulse);
    children_free(children);
    uv_run(loop, UV_RUN_DEFAULT);
    free(lisp);
    free(name);
    return status;
}
