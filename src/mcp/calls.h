/*
 * Calls of tools while they run. A call is answered with its result or, if its client accepts tasks and it
 * lasts or asks for input, with a task.
 *
 * The code of a call may ask the person at the client for a line of input. Up to 2025-11-25 the question is a
 * request of the server's, elicitation/create. Since 2026-07-28 it is the answer of the call; the code waits,
 * the call is parked, and a call that repeats it with the person's answer takes its place. A task shows the
 * question.
 */
#ifndef MCP_CALLS_H
#define MCP_CALLS_H

#include <jansson.h>
#include <stdbool.h>

#include "calls/tool.h"

struct client;
struct request;

/* calls_start(r, tool, arguments, params, options): run ${tool} and answer ${r}. ${arguments} are taken;
 * ${params}, borrowed, are those of ${r}; of the borrowed ${options} the callbacks do not count. */
void calls_start(struct request *r, const struct tool *tool, json_t *arguments, const json_t *params,
                 const struct tool_call_options *options);

/* calls_use(r, tool, arguments, done): run ${tool}, with ${arguments}, taken, for another method than
 * tools/call; ${done} gets ${r} and the result, with its structured content, and answers ${r}. */
void calls_use(struct request *r, const struct tool *tool, json_t *arguments, tool_call_done *done);

/* calls_resume(r, params): if ${params}, borrowed, name a parked call, ${r} takes its place or is refused.
 * False: they name none, and nothing was done. */
bool calls_resume(struct request *r, const json_t *params);

/* calls_take(client, response): whether ${response}, an object, borrowed, answers an open question, which
 * then has been passed on. */
bool calls_take(struct client *client, const json_t *response);

/* calls_cancel_parked(client): no client will repeat the parked calls. calls_no_more_input(client): nor
 * answer the open questions, which count as declined. */
void calls_cancel_parked(struct client *client);
void calls_no_more_input(struct client *client);

#endif
