/*
 * The server's log as notifications/message. Up to 2025-11-25, a client gets lines from the level that
 * logging/setLevel names; since 2026-07-28, each request that asks for them does, while it runs.
 */
#ifndef MCP_SERVER_LOG_H
#define MCP_SERVER_LOG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/log.h"

struct client;
struct transport_origin;

/* Levels in addition to those of enum log_level. */
#define SERVER_LOG_NOTHING (-1) /* more severe than any line */
#define SERVER_LOG_UNKNOWN (-2) /* not a level of MCP */

/* One recipient of lines. Embedded in a request; server_log_remove() takes it out. */
struct server_log_reader {
    struct list node;
    int level; /* an enum log_level, or SERVER_LOG_NOTHING */
    struct transport_origin *origin;
};

/* server_log_init(client), server_log_fini(client): the log as ${client} may see it. */
void server_log_init(struct client *client);
void server_log_fini(struct client *client);

/* server_log_level(name): the enum log_level up to which lines are sent for this level of MCP; or one of
 * the two above. */
int server_log_level(const json_t *name);

/* server_log_set_level(client, level): send lines up to ${level} regardless of requests. */
void server_log_set_level(struct client *client, int level);

/* server_log_add(client, reader, level, origin): send lines up to ${level} to ${origin}, too.
 * server_log_remove(client, reader): stop; does nothing if it was removed already or is SERVER_LOG_NOTHING.
 */
void server_log_add(struct client *client, struct server_log_reader *reader, int level,
                    struct transport_origin *origin);
void server_log_remove(struct client *client, struct server_log_reader *reader);

#endif
