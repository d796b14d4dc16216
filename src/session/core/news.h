/*
 * News about sessions, for the watchers of a collection.
 */
#ifndef SESSION_CORE_NEWS_H
#define SESSION_CORE_NEWS_H

#include "base/list.h"
#include "session/core/wording.h"

struct error_record;
struct operation;
struct outcome;
struct session;
struct sexp;

/* The kinds of news. Each is sent after the session has changed. */
enum sessions_news {
    SESSIONS_CAME,     /* it was made */
    SESSIONS_WENT,     /* it is being closed: it still has a name, but can no longer be found */
    SESSIONS_CLEARED,  /* it was reset or is replaced by a save: evaluations are counted anew */
    SESSIONS_STATE,    /* an evaluation has ended, or it has returned to another state */
    SESSIONS_ERROR,    /* the last error has changed, or there is none now */
    SESSIONS_TOOLS,    /* session_tools() has changed */
    SESSIONS_PROGRESS, /* what runs has printed something, or an evaluation is being answered */
    SESSIONS_EVENTS,   /* whoever keeps a log of its events has written something into it */
};

/* What happens in a session, step by step, for a log. Behind each: the members that it sets. */
enum sessions_event_kind {
    SESSIONS_EVENT_BEGAN, /* operation: it is being sent to the process */
    SESSIONS_EVENT_ENDED, /* operation, outcome: it is being answered; its output is still there */
    SESSIONS_EVENT_ERROR, /* error: of a thread, or its operation continues */
    SESSIONS_EVENT_NOTED, /* operation, text: its progress */
    SESSIONS_EVENT_DIED, /* operation, text: the process has ended; NULL: between operations, not known how */
    SESSIONS_EVENT_PERSON, /* text, deed: what a person has done in the image that is joined */
    SESSIONS_EVENT_BECAME, /* operation, text, cause: the session continues in another state */
};

/* All of it is borrowed, and invalid after the callback. */
struct sessions_event {
    enum sessions_event_kind kind;
    enum start_cause cause;
    const struct operation *operation; /* NULL: no operation is concerned */
    const struct outcome *outcome;
    const struct error_record *error;
    const char *text;
    const struct sexp *deed; /* the agent's event: docs/agent-protocol.md */
};

/* A watcher sets all members; on_event may be NULL. */
struct sessions_watcher {
    struct list node;
    /* The callback must not change the collection or any of its sessions. */
    void (*on_news)(void *arg, struct session *s, enum sessions_news news);
    void (*on_event)(void *arg, struct session *s, const struct sessions_event *event);
    void *arg;
};

#endif
