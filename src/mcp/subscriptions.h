/*
 * What a client is notified about: lists that change, resources that change. Up to 2025-11-25, every client
 * is notified about the lists, and resources/subscribe names resources; since 2026-07-28, each
 * subscriptions/listen names both, and the notifications that it causes carry its id.
 */
#ifndef MCP_SUBSCRIPTIONS_H
#define MCP_SUBSCRIPTIONS_H

struct client;
struct request;
struct subscriptions;

#define SUBSCRIPTIONS_MOST_LISTENS 256 /* open at the same time */
#define SUBSCRIPTIONS_MOST_URIS 256    /* of one listen, or of all resources/subscribe together */

/*
 * subscriptions_new(client):
 * Begin to watch the sessions of ${client}, for its subscriptions.
 *
 * client      borrowed, outlives the subscriptions
 * Returns     given; no listen may be open at subscriptions_free()
 */
struct subscriptions *subscriptions_new(struct client *client);
void subscriptions_free(struct subscriptions *all);

/* subscriptions_tools_changed(r): notify the client of ${r}, if it subscribed, that the list of tools has
 * changed. Sessions cause this by themselves; an extension with its own tools calls it. */
void subscriptions_tools_changed(struct request *r);

/* subscriptions_end(all): answer each open listen: no more notifications will come. */
void subscriptions_end(struct subscriptions *all);

#endif
