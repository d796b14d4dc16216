/*
 * What the methods of one connection share: its options, what the client has declared, and the parts that
 * outlive a request. connection.c makes and frees it; other folders read what it has declared.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "mcp/connection_options.h"
#include "mcp/requests.h"
#include "session/records/author.h"

struct revision;
struct subscriptions;

struct client {
    struct connection_options options;
    uint64_t number; /* of this client among those of its toolbox; 0: they are not told apart */

    struct requests requests;
    struct {
        struct log_listener listener;
        struct list readers; /* server_log.h; the oldest first */
        int level;           /* what the client gets regardless of its requests */
        bool is_sending;     /* lines logged while a line is being sent are not sent */
    } log;
    struct subscriptions *subscriptions; /* borrowed from the connection */
    struct list questions;               /* calls.c: calls whose question has not been answered yet */
    uint64_t questions_asked;
    struct list parked; /* calls whose code waits for a line that a later request brings */
    bool sends_no_more; /* its input has ended */
    bool is_ending;     /* sessions are being saved: what a call did now would be lost */

    const struct revision *negotiated; /* by the last initialize; NULL before it */
    struct author author;              /* as the last initialize named it */
    json_t *capabilities;              /* declared in the last initialize; NULL: none */
    char *tools_text;                  /* the array of the listed tools; NULL until it is first requested */

    bool has_shaken_hands;
    bool has_asked_roots;
};

/*
 * client_send(client, origin, kind, code, text), client_notify(client, origin, text):
 * Send a whole message; the latter one that answers nothing.
 *
 * origin      of the request that the message is about; NULL: none, or a request that has none
 * code        of an error; otherwise 0
 * text        borrowed
 */
void client_send(const struct client *client, struct transport_origin *origin, enum transport_kind kind,
                 int code, const struct strbuf *text);
void client_notify(const struct client *client, struct transport_origin *origin, const struct strbuf *text);

/* client_author(client, params): who sends the request with these parameters: by the clientInfo in their
 * _meta, or in the last initialize. client_name(info): by a clientInfo, which may be NULL. */
struct author client_author(const struct client *client, const json_t *params);
struct author client_name(const json_t *info);

/* client_shake_hands(client): the client is ready for work: call on_handshake(), the first time only. */
void client_shake_hands(struct client *client);

#endif
