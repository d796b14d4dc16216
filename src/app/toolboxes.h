/*
 * The toolbox of each owner of sessions: the client on standard input and output, and each principal over
 * HTTP. Each has its own sessions, and its own directory for their saves.
 */
#ifndef APP_TOOLBOXES_H
#define APP_TOOLBOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "calls/toolbox.h"

struct session_host;
struct toolboxes;

struct toolboxes_options {
    uv_loop_t *loop;
    struct session_host *host;   /* borrowed; outlives the toolboxes */
    struct toolbox common;       /* what all toolboxes have in common */
    const char *state_directory; /* borrowed; NULL: nothing can be saved */
    size_t save_every_s; /* save idle sessions that have changed this often; 0: only by toolboxes_save() */
    size_t most_sessions, most_processes; /* of each principal; 0: the server's limit */
};

/* toolboxes_new(options): none yet; ${options} is copied. */
struct toolboxes *toolboxes_new(const struct toolboxes_options *options);

/* toolboxes_free(t): close all sessions. */
void toolboxes_free(struct toolboxes *t);

/* toolboxes_get(t, owner): the toolbox of ${owner}, made on first use; "" is the client on standard input and
 * output, and everybody over HTTP without tokens. */
struct toolbox *toolboxes_get(struct toolboxes *t, const char *owner);

/* toolboxes_announce(t): if sessions are persistent, record in the state directory which saves will
 * follow, so that another server with the same directory waits for them instead of starting those sessions
 * empty. */
void toolboxes_announce(struct toolboxes *t);

/* toolboxes_save(t, done, arg): if sessions are persistent, save each one in which something was
 * evaluated, a few at a time. ${done} is called once, perhaps before this returns. */
void toolboxes_save(struct toolboxes *t, void (*done)(void *arg), void *arg);

#endif
