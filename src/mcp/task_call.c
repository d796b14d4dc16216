/*
 * Responsible for calls of tools whose client accepts a task: a timer turns one that lasts into a task.
 */
#include "mcp/task_call.h"

#include <stdlib.h>

#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "mcp/client.h"
#include "mcp/request.h"
#include "mcp/tasks.h"
#include "mcp/tool_answer.h"
#include "tools/tool.h"
#include "tools/toolbox.h"

#define TASK_AFTER_MS 3000 /* a call that takes longer is answered with a task */

struct task_call {
    struct request *request; /* NULL: it was answered with ${task} */
    const struct revision *revision;
    struct task *task;
    struct tool_call *call; /* NULL: it has ended */
    uv_timer_t timer;
};

static void free_call(uv_handle_t *handle)
{
    free(handle->data);
}

static void end_call(struct task_call *t)
{
    uv_close((uv_handle_t *)&t->timer, free_call);
}

static void give_up(void *arg)
{
    struct task_call *t = arg;
    tool_call_cancel(t->call);
    end_call(t);
}

static void on_due(uv_timer_t *timer)
{
    struct task_call *t = timer->data;
    struct request *r = t->request;
    t->task = task_new(request_client(r)->toolbox->tasks, give_up, t);
    if (t->task == NULL)
        return; /* there are too many: its client waits */
    t->request = NULL;
    request_await(r, NULL, NULL);
    task_answer(t->task, r);
}

static void on_call_done(void *arg, const struct tool_result *result)
{
    struct task_call *t = arg;
    if (t->task == NULL) {
        tool_answer(t->request, result);
    } else {
        struct strbuf out;
        strbuf_init(&out, 0);
        tool_answer_add(&out, t->revision, result);
        task_end(t->task, &out);
        strbuf_fini(&out);
    }
    end_call(t);
}

static void on_call_progress(void *arg, double elapsed_s, const char *message)
{
    struct task_call *t = arg;
    if (t->task != NULL)
        task_say(t->task, message);
    else
        request_progress(t->request, elapsed_s, message);
}

void task_call_start(struct request *r, const struct tool *tool, json_t *arguments,
                     const struct tool_call_options *options)
{
    struct toolbox *toolbox = request_client(r)->toolbox;
    struct task_call *t = xcalloc(1, sizeof *t);
    struct tool_call_options mine = *options;
    t->request = r;
    t->revision = request_revision(r);
    t->timer.data = t;
    CHECK(uv_timer_init(tasks_loop(toolbox->tasks), &t->timer) == 0);
    mine.wants_progress = true; /* it becomes the message of the task */
    mine.done = on_call_done;
    mine.on_progress = on_call_progress;
    mine.arg = t;
    /* ${t} is freed later, from the loop, even if the call has already finished. */
    t->call = tool_call_start(toolbox, tool, arguments, &mine);
    if (t->call == NULL)
        return;
    request_await(r, t, give_up);
    uv_timer_start(&t->timer, on_due, TASK_AFTER_MS, 0);
}
