/*
 * What the methods of one connection share: its options, what the client has declared, and the parts that
 * outlive a request. Its connection makes and owns it; all files of this folder may use its members.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "session/records/author.h"

struct extension;
struct outbox;
struct requests;
struct revision;
struct server_log;
struct subscriptions;
struct toolbox;

struct client {
    struct toolbox *toolbox;           /* borrowed, like the next ones; NULL only in tests */
    const char *listing;               /* as listing_of() takes it; valid */
    const char *default_session;       /* its name */
    const struct extension *extension; /* NULL: none */
    bool wants_structured;             /* --structured */
    bool initializes_once;             /* refuse a second initialize */
    bool is_stateless;                 /* many clients share the connection */
    uint64_t number; /* of this client among those of its toolbox; 0: they are not told apart */

    struct outbox *outbox; /* borrowed from the connection, like the next ones */
    struct requests *requests;
    struct server_log *log;
    struct subscriptions *subscriptions;
    struct list questions; /* elicitation.c: to the person, not answered yet */
    uint64_t questions_asked;
    struct list parked; /* asking_call.c: calls whose code waits for a line that a later request brings */
    bool sends_no_more; /* its input has ended */
    bool is_ending;     /* sessions are being saved: what a call did now would be lost */

    const struct revision *negotiated; /* by the last initialize; NULL before it */
    struct author author;              /* as the last initialize named it */
    json_t *capabilities;              /* declared in the last initialize; NULL: none */
    char *tools_text;                  /* the array of the listed tools; NULL until it is first requested */

    bool has_shaken_hands;
    bool has_asked_roots;
    void (*on_handshake)(void *arg);              /* NULL: not needed */
    void (*on_root)(void *arg, const char *path); /* NULL: its roots are not asked for */
    void *arg;
};

/* client_fini(client): free what it owns. */
void client_fini(struct client *client);

/* client_author(client, params): who sends the request with these parameters: by the clientInfo in their
 * _meta, or in the last initialize. client_name(info): by a clientInfo, which may be NULL. */
struct author client_author(const struct client *client, const json_t *params);
struct author client_name(const json_t *info);

/* client_shake_hands(client): the client is ready for work: call on_handshake(), the first time only. */
void client_shake_hands(struct client *client);

#endif
