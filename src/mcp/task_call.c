/*
 * Responsible for calls of tools whose client accepts a task: a timer turns one that lasts into a task, and
 * so does a question of its code, which the task then shows.
 */
#include "mcp/task_call.h"

#include <stdlib.h>

#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "mcp/client.h"
#include "mcp/elicitation.h"
#include "mcp/request.h"
#include "mcp/tasks.h"
#include "mcp/tool_answer.h"
#include "proc/loop_handle.h"
#include "tools/tool.h"
#include "tools/toolbox.h"

#define TASK_AFTER_MS 3000 /* a call that takes longer is answered with a task */

struct task_call {
    struct request *request; /* NULL: it was answered with ${task} */
    const struct revision *revision;
    struct task *task;
    struct tool_call *call; /* NULL: it has ended */
    int64_t question;
    uv_timer_t *timer;
};

static void end_call(struct task_call *t)
{
    loop_handle_free(t->timer);
    free(t);
}

static void give_up(void *arg)
{
    struct task_call *t = arg;
    tool_call_cancel(t->call);
    end_call(t);
}

/* False: there are too many tasks, so its client waits. */
static bool become_task(struct task_call *t)
{
    struct request *r = t->request;
    if (t->task != NULL)
        return true;
    t->task = task_new(request_client(r)->options.toolbox->tasks, give_up, t);
    if (t->task == NULL)
        return false;
    t->request = NULL;
    uv_timer_stop(t->timer);
    request_await(r, NULL, NULL);
    task_answer(t->task, r);
    tool_call_let_go(t->call);
    return true;
}

static void on_due(uv_timer_t *timer)
{
    become_task(timer->data);
}

static void on_line(void *arg, enum elicitation_action action, const char *line, size_t len)
{
    struct task_call *t = arg;
    elicitation_pass_on(t->call, t->question, action, line, len);
}

static void on_responses(void *arg, const json_t *responses)
{
    elicitation_read(elicitation_input(responses), on_line, arg);
}

static json_t *question_inputs(const char *prompt)
{
    struct strbuf text = {0};
    elicitation_add_inputs(&text, prompt);
    json_t *inputs = json_loadb(text.bytes, text.len, 0, NULL);
    CHECK(inputs != NULL);
    strbuf_fini(&text);
    return inputs;
}

static void on_question(void *arg, struct tool_call *call, int64_t question, const char *prompt)
{
    struct task_call *t = arg;
    t->question = question;
    if (prompt == NULL)
        task_ask_no_more(t->task);
    else if (become_task(t))
        task_ask(t->task, question_inputs(prompt), on_responses);
    else
        tool_call_answer(call, question, NULL, 0);
}

static void on_call_done(void *arg, const struct tool_result *result)
{
    struct task_call *t = arg;
    if (t->task == NULL) {
        tool_answer(t->request, result);
    } else {
        struct strbuf out = {0};
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
    struct toolbox *toolbox = request_client(r)->options.toolbox;
    struct task_call *t = xcalloc(1, sizeof *t);
    struct tool_call_options mine = *options;
    t->request = r;
    t->revision = request_revision(r);
    t->timer = loop_handle_timer(tasks_loop(toolbox->tasks), t);
    mine.wants_progress = true; /* it becomes the message of the task */
    mine.done = on_call_done;
    mine.on_progress = on_call_progress;
    mine.on_question = elicitation_is_possible(r) ? on_question : NULL;
    mine.arg = t;
    struct tool_call *call = tool_call_start(toolbox, tool, arguments, &mine);
    if (call == NULL)
        return; /* it has ended, and ${t} is freed */
    t->call = call;
    request_await(r, t, give_up);
    uv_timer_start(t->timer, on_due, TASK_AFTER_MS, 0);
}
