/*
 * What a client wants to be told unasked: lists that change, resources that change. Up to 2025-11-25 the
 * lists are told to everybody and resources/subscribe names resources; since 2026-07-28 each
 * subscriptions/listen names both, and what is sent because of it carries its id. Stays in this folder.
 */
#ifndef MCP_SUBSCRIPTIONS_H
#define MCP_SUBSCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "session/sessions.h"

struct connection;
struct request;

#define SUBSCRIPTIONS_MOST_LISTENS 256 /* open at once */
#define SUBSCRIPTIONS_MOST_URIS 256    /* of one listen, or of all resources/subscribe together */

/* One client's, in its connection. */
struct subscriptions {
    struct sessions_watcher watcher;
    struct list
        all; /* of struct subscription: one for each listen, and one for what came by resources/subscribe */
    size_t listens;
};

/* subscriptions_init(c): begin to watch the connection's sessions. subscriptions_fini(c): stop; no listen is
 * open any more. */
void subscriptions_init(struct connection *c);
void subscriptions_fini(struct connection *c);

/* subscriptions_tools_changed(r): tell the client of ${r}, if it wants to know, that the list of tools has
 * changed. Its sessions do this by themselves; an extension that has tools of its own calls it. */
void subscriptions_tools_changed(struct request *r);

/* subscriptions_end(c): answer each open listen: nothing more will come. */
void subscriptions_end(struct connection *c);

#endif
