/*
 * Calls of tools whose client accepts tasks: one that ends soon is answered as usual, the others with a
 * task.
 */
#ifndef MCP_TASK_CALL_H
#define MCP_TASK_CALL_H

#include <jansson.h>

struct request;
struct tool;
struct tool_call_options;

/* task_call_start(r, tool, arguments, options): run ${tool} and answer ${r}. ${arguments} are taken; of the
 * borrowed ${options} the callbacks do not count. The client's toolbox has tasks. */
void task_call_start(struct request *r, const struct tool *tool, json_t *arguments,
                     const struct tool_call_options *options);

#endif
