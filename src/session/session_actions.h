/*
 * The actions that the table of session states calls, one for a state and an event.
 */
#ifndef SESSION_SESSION_ACTIONS_H
#define SESSION_SESSION_ACTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session_states.h"

struct child_end;
struct session;
struct sexp_document;

struct event {
    enum session_event kind;
    struct sexp_document *document; /* OK, FAILED, COPIED and those of a scratch copy: given to the action */
    const struct child_end *end;    /* GONE, SCRATCH_GONE, SOURCE_GONE */
    int64_t question;               /* ASKED */
    const char *text;               /* ANSWERED: borrowed; NULL: there is no more input */
    size_t text_len;
    char *image; /* STORED: path, given to the action; NULL if the image could not be made */
};

typedef void session_action(struct session *s, struct event *e);

/* Each is in the file that docs/states.md names. */
#define X(name) session_action session_action_##name;
SESSION_ACTIONS(X)
#undef X

#endif
