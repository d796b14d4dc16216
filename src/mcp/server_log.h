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

struct outbox;
struct server_log;
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

/*
 * server_log_new(outbox, is_shown):
 * The log as one client may see it.
 *
 * outbox      borrowed, outlives the log
 * is_shown    false: no line is ever sent
 * Returns     given; server_log_free() takes NULL as well
 */
struct server_log *server_log_new(struct outbox *outbox, bool is_shown);
void server_log_free(struct server_log *log);

/* server_log_is_shown(log): as passed to server_log_new(). */
bool server_log_is_shown(const struct server_log *log);

/* server_log_level(name): the enum log_level up to which lines are sent for this level of MCP; or one of
 * the two above. */
int server_log_level(const json_t *name);

/* server_log_set_level(log, level): what the client gets regardless of its requests. */
void server_log_set_level(struct server_log *log, int level);

/* server_log_add(log, reader, level, origin): send lines up to ${level} to ${origin}, too.
 * server_log_remove(log, reader): stop; does nothing if it was not added or is SERVER_LOG_NOTHING. */
void server_log_add(struct server_log *log, struct server_log_reader *reader, int level,
                    struct transport_origin *origin);
void server_log_remove(struct server_log *log, struct server_log_reader *reader);

#endif
