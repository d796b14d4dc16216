/*
 * A session without a process, for targets whose input is what a Lisp sent.
 */
#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include "base/check.h"
#include "session/core/core.h"
#include "session/session_host.h"
#include "session/sessions.h"

/* fuzz_session(): "default", with a loop, a host and a list of sessions of its own, for the whole run. */
static inline struct session *fuzz_session(void)
{
    static const struct limits limits;
    struct err err;
    struct session_host *host =
        session_host_new(&(struct session_host_options){.loop = uv_default_loop(), .limits = &limits});
    struct session *s = sessions_create(sessions_new(host, &(struct sessions_options){0}), "default", &err);
    CHECK(s != NULL);
    return s;
}

#endif
