/*
 * tasks/get, tasks/update and tasks/cancel.
 */
#include "calls/toolbox.h"
#include "mcp/client.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/tasks.h"

/* NULL: ${r} was answered. */
static struct task *find(struct request *r, const json_t *params)
{
    struct toolbox *toolbox = request_client(r)->options.toolbox;
    struct tasks *all = toolbox == NULL ? NULL : toolbox->tasks;
    const char *id = json_string_value(json_object_get(params, "taskId"));
    if (!request_can_extension(r, TASKS_EXTENSION)) {
        tasks_refuse(r);
        return NULL;
    }
    struct task *task = all == NULL || id == NULL ? NULL : tasks_find(all, id);
    if (task == NULL)
        request_fail(r, JSONRPC_INVALID_PARAMS,
                     "Invalid params: there is no task with this taskId. A task and its evaluation end "
                     "with the server's process, and a task is dropped an hour after its end");
    return task;
}

bool methods_tasks_get(struct request *r, const json_t *params)
{
    struct task *task = find(r, params);
    return task != NULL && task_answer_state(task, r);
}

bool methods_tasks_update(struct request *r, const json_t *params)
{
    struct task *task = find(r, params);
    const json_t *responses = json_object_get(params, "inputResponses");
    if (task == NULL)
        return false;
    if (!json_is_object(responses))
        return request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: inputResponses must be an object");
    task_take(task, responses);
    return request_accept(r);
}

bool methods_tasks_cancel(struct request *r, const json_t *params)
{
    struct task *task = find(r, params);
    if (task == NULL)
        return false;
    task_cancel(task);
    return request_accept(r);
}
