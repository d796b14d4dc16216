/*
 * What a method is, and the functions behind the rows of the table in methods.c; one file per family.
 */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include <jansson.h>
#include <stdbool.h>

struct request;

struct method {
    const char *name;

    /* run(r, params): answer ${r}, immediately or later. params is borrowed; NULL: none. False: ${r} was
     * answered with an error at once. */
    bool (*run)(struct request *r, const json_t *params);

    bool is_legacy;          /* exists up to 2025-11-25 */
    bool is_modern;          /* exists since 2026-07-28 */
    bool precedes_handshake; /* legacy: also before initialize */
    bool is_alone;           /* legacy: not in a batch */
    const char *named_by;    /* the member of params that the header Mcp-Name repeats; NULL: none */
    bool is_cached;          /* modern: its result has the members about caching */
    int ttl_ms;              /* how long it may be cached */
    bool is_public; /* modern: the result is the same for every client, so shared caches may keep it */
};

/* methods_NAME(r, params): the run of the method NAME, with `_` for the slash and for capitals. */
bool methods_tools_list(struct request *r, const json_t *params);
bool methods_tools_call(struct request *r, const json_t *params);
bool methods_tasks_get(struct request *r, const json_t *params);
bool methods_tasks_update(struct request *r, const json_t *params);
bool methods_tasks_cancel(struct request *r, const json_t *params);
bool methods_resources_list(struct request *r, const json_t *params);
bool methods_resources_templates_list(struct request *r, const json_t *params);
bool methods_resources_read(struct request *r, const json_t *params);
bool methods_resources_subscribe(struct request *r, const json_t *params);
bool methods_resources_unsubscribe(struct request *r, const json_t *params);
bool methods_subscriptions_listen(struct request *r, const json_t *params);
bool methods_prompts_list(struct request *r, const json_t *params);
bool methods_prompts_get(struct request *r, const json_t *params);
bool methods_completion_complete(struct request *r, const json_t *params);
bool methods_logging_set_level(struct request *r, const json_t *params);

#endif
