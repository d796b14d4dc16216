/*
 * Fixtures that are tasks: greet, which is not one, and those that work for a moment, fail, or ask for input.
 */
#include <stdlib.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "calls/toolbox.h"
#include "fixtures.h"
#include "mcp/client.h"
#include "mcp/json_text.h"
#include "mcp/request.h"
#include "mcp/tasks.h"

#define MOMENT_MS 200

/* Work in progress: a timer, for a task or for a request whose client accepts no task. */
struct job {
    struct task *task;
    struct request *request;
    void (*end)(struct job *job);
    char name[64];
    uv_timer_t timer;
};

static const json_t *argument(const json_t *params, const char *name)
{
    return json_object_get(json_object_get(params, "arguments"), name);
}

static void free_job(uv_handle_t *handle)
{
    free(handle->data);
}

static void cancel_job(void *arg)
{
    struct job *job = arg;
    uv_close((uv_handle_t *)&job->timer, free_job);
}

static void on_timer(uv_timer_t *timer)
{
    struct job *job = timer->data;
    job->end(job);
}

static struct job *new_job(struct request *r, void (*end)(struct job *job), uint64_t ms)
{
    struct job *job = xcalloc(1, sizeof *job);
    job->end = end;
    job->timer.data = job;
    CHECK(uv_timer_init(request_client(r)->options.toolbox->loop, &job->timer) == 0);
    if (ms > 0)
        uv_timer_start(&job->timer, on_timer, ms, 0);
    return job;
}

static void answer_with_task(struct request *r, struct job *job)
{
    job->task = task_new(request_client(r)->options.toolbox->tasks, cancel_job, job);
    CHECK(job->task != NULL);
    task_answer(job->task, r);
}

static void end_with_text(struct job *job, const char *text, bool is_error)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    strbuf_addf(&out, "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"isError\":%s", text,
                is_error ? "true" : "false");
    task_end(job->task, &out);
    strbuf_fini(&out);
    cancel_job(job);
}

static void greet(struct request *r, const json_t *params)
{
    const char *name = json_string_value(argument(params, "name"));
    fixture_answer_text(r, "Hello, %s!", name == NULL ? "whoever you are" : name);
}

static void end_compute(struct job *job)
{
    if (job->task != NULL) {
        end_with_text(job, "Computed.", false);
        return;
    }
    request_await(job->request, NULL, NULL);
    fixture_answer_text(job->request, "Computed.");
    cancel_job(job);
}

static void slow_compute(struct request *r, const json_t *params)
{
    double seconds = json_number_value(argument(params, "seconds"));
    if (!(seconds > 0 && seconds < 3600)) {
        fixture_answer_text(r, "Computed.");
        return;
    }
    struct job *job = new_job(r, end_compute, (uint64_t)(seconds * 1000));
    if (request_can_extension(r, TASKS_EXTENSION)) {
        answer_with_task(r, job);
        return;
    }
    job->request = r;
    request_await(r, job, cancel_job);
}

static void end_failing(struct job *job)
{
    end_with_text(job, "The job failed.", true);
}

static void end_broken(struct job *job)
{
    task_break(job->task, JSONRPC_INTERNAL_ERROR, "The job broke");
    cancel_job(job);
}

static void begin_task(struct request *r, void (*end)(struct job *job))
{
    if (!request_can_extension(r, TASKS_EXTENSION))
        tasks_refuse(r);
    else
        answer_with_task(r, new_job(r, end, MOMENT_MS));
}

static void failing_job(struct request *r, const json_t *params)
{
    begin_task(r, end_failing);
}

static void protocol_error_job(struct request *r, const json_t *params)
{
    begin_task(r, end_broken);
}

static void on_answered(void *arg, const json_t *responses)
{
    end_with_text(arg, "All answers have come.", false);
}

static json_t *elicit(const char *message)
{
    return json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s}}}}}", "method", "elicitation/create", "params",
                     "mode", "form", "message", message, "requestedSchema", "type", "object", "properties",
                     "confirm", "type", "boolean");
}

static void ask_one(struct job *job)
{
    task_ask(job->task, json_pack("{s:o}", "confirm", elicit("Delete it?")), on_answered);
}

static void ask_two(struct job *job)
{
    task_ask(job->task, json_pack("{s:o,s:o}", "first", elicit("This?"), "second", elicit("And that?")),
             on_answered);
}

static void confirm_delete(struct request *r, const json_t *params)
{
    begin_task(r, ask_one);
}

static void multi_input(struct request *r, const json_t *params)
{
    begin_task(r, ask_two);
}

static void end_with_name(struct job *job)
{
    end_with_text(job, job->name, false);
}

/* It asks for the name before it becomes a task. */
static void tool_with_task(struct request *r, const json_t *params)
{
    const json_t *response = json_object_get(json_object_get(params, "inputResponses"), "user_name");
    const char *name = json_string_value(json_object_get(json_object_get(response, "content"), "name"));
    if (!request_can_extension(r, TASKS_EXTENSION)) {
        tasks_refuse(r);
        return;
    }
    if (name == NULL) {
        strbuf_adds(
            request_result_of(r, "input_required"),
            "\"inputRequests\":{\"user_name\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
            "\"form\",\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":"
            "{\"name\":{\"type\":\"string\"}}}}}}");
        request_finish(r);
        return;
    }
    struct job *job = new_job(r, end_with_name, MOMENT_MS);
    /* It is inserted into JSON unescaped. */
    for (size_t i = 0;
         i + 1 < sizeof job->name && name[i] >= ' ' && name[i] < 127 && name[i] != '"' && name[i] != '\\';
         i++)
        job->name[i] = name[i];
    answer_with_task(r, job);
}

const struct fixture tasking_tools[] = {
    {.name = "greet", .run = greet},
    {.name = "slow_compute", .run = slow_compute},
    {.name = "failing_job", .run = failing_job},
    {.name = "protocol_error_job", .run = protocol_error_job},
    {.name = "confirm_delete", .run = confirm_delete},
    {.name = "multi_input", .run = multi_input},
    {.name = "test_tool_with_task", .run = tool_with_task},
    {0},
};
