/*
 * The actions that the table of session states calls, one for a state and an event.
 */
#ifndef SESSION_CORE_ACTIONS_H
#define SESSION_CORE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/core/states.h"

struct child_end;
struct session;
struct sexp_document;

struct event {
    enum session_event kind;
    struct sexp_document *document; /* OK, FAILED: given to the action */
    const struct child_end *end;    /* GONE */
    bool is_unused;                 /* DEADLINE: the session has not been used for the idle timeout */
    int64_t question;               /* INPUT: of the operation */
    const char *text;               /* INPUT: the caller's answer, borrowed; NULL: there is no more input */
    size_t text_len;
};

typedef void session_action(struct session *s, struct event *e);

/* Each is in the file that docs/states.md names. */
#define X(name, file, effect) session_action session_action_##name;
SESSION_ACTIONS(X)
#undef X

typedef void session_step(struct session *s);

#define X(name, state, file, effect) session_step session_step_##name;
SESSION_STEPS(X)
#undef X

#endif
