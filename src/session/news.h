/*
 * News about sessions, for the watchers of a collection.
 */
#ifndef SESSION_NEWS_H
#define SESSION_NEWS_H

#include "base/list.h"

struct session;

/* The kinds of news. Each is sent after the session has changed. */
enum sessions_news {
    SESSIONS_CAME,     /* it was made */
    SESSIONS_WENT,     /* it is being closed: it has a name still, and is found no more */
    SESSIONS_STATE,    /* an evaluation has ended, or it has returned to another state */
    SESSIONS_ERROR,    /* another error is the last one, or none is */
    SESSIONS_TOOLS,    /* session_tools() */
    SESSIONS_PROGRESS, /* what runs has printed something; an evaluation is being answered */
};

/* Somebody who wants to know. Both members are set by the watcher. */
struct sessions_watcher {
    struct list node;
    /* The collection must not be changed in it, nor any of its sessions. */
    void (*on_news)(void *arg, struct session *s, enum sessions_news news);
    void *arg;
};

#endif
