/*
 * News about sessions, for the watchers of a collection.
 */
#ifndef SESSION_CORE_NEWS_H
#define SESSION_CORE_NEWS_H

#include "base/list.h"

struct session;

/* The kinds of news. Each is sent after the session has changed. */
enum sessions_news {
    SESSIONS_CAME,     /* it was made */
    SESSIONS_WENT,     /* it is being closed: it still has a name, but can no longer be found */
    SESSIONS_CLEARED,  /* it was reset or is replaced by a save: evaluations are counted anew */
    SESSIONS_STATE,    /* an evaluation has ended, or it has returned to another state */
    SESSIONS_ERROR,    /* the last error has changed, or there is none now */
    SESSIONS_TOOLS,    /* session_tools() has changed */
    SESSIONS_PROGRESS, /* what runs has printed something, or an evaluation is being answered */
};

/* A watcher sets both members. */
struct sessions_watcher {
    struct list node;
    /* The callback must not change the collection or any of its sessions. */
    void (*on_news)(void *arg, struct session *s, enum sessions_news news);
    void *arg;
};

#endif
