/*
 * The extension io.modelcontextprotocol/tasks: a long call is answered with a task, and its client
 * polls for the result. Tasks belong to an owner, as sessions do, so they outlive requests and
 * connections.
 */
#ifndef MCP_TASKS_H
#define MCP_TASKS_H

#include <jansson.h>
#include <uv.h>

#include "base/strbuf.h"
#include "mcp/jsonrpc.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

struct request;
struct task;
struct tasks;

/* tasks_new(loop), tasks_free(all): the latter cancels those that work. */
struct tasks *tasks_new(uv_loop_t *loop);
void tasks_free(struct tasks *all);

/* tasks_find(all, id): borrowed; NULL if there is none, or it was dropped. */
struct task *tasks_find(struct tasks *all, const char *id);

/*
 * task_new(all, cancel, arg):
 * A task that works. It is dropped an hour after its end.
 *
 * cancel      called once with ${arg} if it is cancelled before it has ended; must not end it
 * Returns     borrowed; NULL if there are too many
 */
struct task *task_new(struct tasks *all, void (*cancel)(void *arg), void *arg);

/* task_answer(task, r): answer ${r} with the new task. task_answer_state(task, r): with its current
 * state. */
void task_answer(struct task *task, struct request *r);
bool task_answer_state(struct task *task, struct request *r);

/* task_say(task, message): set its status message; copied. */
void task_say(struct task *task, const char *message);

/* task_end(task, result): set its result, the members as JSON without the braces; borrowed.
 * task_break(task, code, message): end it with an error. Neither does anything to one that has ended. */
void task_end(struct task *task, const struct strbuf *result);
void task_break(struct task *task, enum jsonrpc_code code, const char *message);

/*
 * task_ask(task, inputs, answered):
 * Ask its client for input.
 *
 * inputs      an object of requests by key; taken
 * answered    called with the arg of the task and the responses by key once all have arrived
 */
void task_ask(struct task *task, json_t *inputs, void (*answered)(void *arg, const json_t *responses));

/* task_ask_no_more(task): it no longer waits for the input. */
void task_ask_no_more(struct task *task);

/* task_take(task, responses): accept the client's responses to keys that were asked for.
 * task_cancel(task). */
void task_take(struct task *task, const json_t *responses);
void task_cancel(struct task *task);

/* tasks_refuse(r): answer that the client must declare the extension for this. */
void tasks_refuse(struct request *r);

#endif
