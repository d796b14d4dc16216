/*
 * Calls whose code may ask the person at the client for input. Up to 2025-11-25 the question is a request of
 * the server's. Since 2026-07-28 it is the answer of the call; the code waits, the call is parked, and a call
 * that repeats it with the person's answer takes its place.
 */
#ifndef MCP_ASKING_CALL_H
#define MCP_ASKING_CALL_H

#include <jansson.h>
#include <stdbool.h>

struct client;
struct request;
struct tool;
struct tool_call_options;

/* asking_call_start(r, tool, arguments, params, options): run ${tool} and answer ${r}. ${arguments} are
 * taken; ${params}, borrowed, are those of ${r}; of the borrowed ${options} the callbacks do not count. */
void asking_call_start(struct request *r, const struct tool *tool, json_t *arguments, const json_t *params,
                       const struct tool_call_options *options);

/* asking_call_resume(r, params): if ${params}, borrowed, name a parked call, ${r} takes its place or is
 * refused. False: they name none, and nothing was done. */
bool asking_call_resume(struct request *r, const json_t *params);

/* asking_calls_cancel(client): no client will repeat the parked calls. */
void asking_calls_cancel(struct client *client);

#endif
