/*
 * The server's log as notifications/message: up to 2025-11-25 from the level on that logging/setLevel names,
 * since 2026-07-28 to each request that asks for it, while it runs. Stays in this folder.
 */
#ifndef MCP_SERVER_LOG_H
#define MCP_SERVER_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct connection;

/* What a level of MCP comes to with ours. */
#define SERVER_LOG_NOTHING (-1) /* higher than any line of ours has */
#define SERVER_LOG_UNKNOWN (-2) /* no level at all */

/* One client's, in its connection. */
struct server_log {
    struct log_listener listener;
    size_t wanted[LOG_LEVEL_COUNT]; /* requests and, by logging/setLevel, the connection itself, by level */
    int level;                      /* by logging/setLevel: an enum log_level, or SERVER_LOG_NOTHING */
    bool is_telling;                /* what is logged while a line is being sent is not sent */
};

void server_log_init(struct connection *c);
void server_log_fini(struct connection *c);

/* server_log_level(name): the enum log_level up to which somebody hears who asks for this level; or one of
 * the two above. */
int server_log_level(const json_t *name);

/* server_log_want(c, level), server_log_forget(c, level): one more, one less that hears up to ${level};
 * nothing for a negative one. */
void server_log_want(struct connection *c, int level);
void server_log_forget(struct connection *c, int level);

#endif
