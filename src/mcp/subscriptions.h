/*
 * What a client is notified of: lists that change, resources that change. Up to 2025-11-25 the
 * lists are told to everybody and resources/subscribe names resources; since 2026-07-28 each
 * subscriptions/listen names both, and what is sent because of it carries its id.
 */
#ifndef MCP_SUBSCRIPTIONS_H
#define MCP_SUBSCRIPTIONS_H

struct client;
struct request;
struct subscriptions;

#define SUBSCRIPTIONS_MOST_LISTENS 256 /* open at once */
#define SUBSCRIPTIONS_MOST_URIS 256    /* of one listen, or of all resources/subscribe together */

/*
 * subscriptions_new(client):
 * Begin to watch the sessions of ${client}, for what it asks to be notified of.
 *
 * client      borrowed, outlives the subscriptions
 * Returns     given; subscriptions_free() needs that no listen is open any more
 */
struct subscriptions *subscriptions_new(struct client *client);
void subscriptions_free(struct subscriptions *all);

/* subscriptions_tools_changed(r): notify the client of ${r}, if it wants to know, that the list of tools has
 * changed. Its sessions do this by themselves; an extension that has tools of its own calls it. */
void subscriptions_tools_changed(struct request *r);

/* subscriptions_end(all): answer each open listen: nothing more will come. */
void subscriptions_end(struct subscriptions *all);

#endif
