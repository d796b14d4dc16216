/*
 * The methods and notifications we answer to: a row each in methods.c, and a function.
 */
#ifndef MCP_METHODS_H
#define MCP_METHODS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct connection;
struct json_text_message;
struct request;
struct strbuf;

struct method {
    const char *name;
    bool is_legacy;       /* exists up to 2025-11-25 */
    bool is_modern;       /* exists since 2026-07-28 */
    bool needs_handshake; /* legacy: not before initialize */
    bool allows_batch;    /* may be an element of a batch */
    const char *named_by; /* the member of params that the header Mcp-Name repeats; NULL: none */
    int ttl_ms;           /* modern: how long the result may be cached; -1: the result has no such member */
    bool is_public;       /* modern: and that by anybody, because it is the same for everybody */

    /* run(r, params): answer ${r}, now or later. params is borrowed; NULL for none. */
    void (*run)(struct request *r, const json_t *params);
};

struct notification {
    const char *name;
    void (*run)(struct connection *c, const struct json_text_message *tokens);
};

/* method_find(name, len), notification_find(name, len): the row; NULL if there is none. */
const struct method *method_find(const char *name, size_t len);
const struct notification *notification_find(const char *name, size_t len);

/* method_nearest(name, is_modern): the most similar method of that era; NULL if none is near. */
const char *method_nearest(const char *name, bool is_modern);

/* methods_add_capabilities(c, out): append what we can do, an object, for initialize and server/discover. */
void methods_add_capabilities(const struct connection *c, struct strbuf *out);

/* methods_refuse_cursor(r, params): a list has one page, so there is no cursor that we could have given.
 * True: it was answered. */
bool methods_refuse_cursor(struct request *r, const json_t *params);

/* SERVER_INFO: who we are, a JSON object. */
#ifndef CL_MCP_VERSION
#define CL_MCP_VERSION "0.1.0"
#endif
#define SERVER_INFO                                                                                          \
    "{\"name\":\"cl-mcp-server\",\"title\":\"Common Lisp\",\"version\":\"" CL_MCP_VERSION "\"}"

/* The functions behind the rows, in a file for each family. */
void methods_tools_list(struct request *r, const json_t *params);
void methods_tools_call(struct request *r, const json_t *params);
void methods_resources_list(struct request *r, const json_t *params);
void methods_resources_templates_list(struct request *r, const json_t *params);
void methods_resources_read(struct request *r, const json_t *params);
void methods_resources_subscribe(struct request *r, const json_t *params);
void methods_resources_unsubscribe(struct request *r, const json_t *params);
void methods_subscriptions_listen(struct request *r, const json_t *params);
void methods_prompts_list(struct request *r, const json_t *params);
void methods_prompts_get(struct request *r, const json_t *params);
void methods_completion_complete(struct request *r, const json_t *params);
void methods_logging_set_level(struct request *r, const json_t *params);

#endif
