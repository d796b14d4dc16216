/*
 * Tasks: their states and their messages.
 */
#include "mcp/tasks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "base/json_write.h"
#include "mcp/request.h"

#define MOST_TASKS 64
#define KEPT_MS 3600000 /* after the end */
#define POLL_MS 1000

enum task_status {
    TASK_WORKING,
    TASK_INPUT_REQUIRED, /* it needs input from the client */
    TASK_COMPLETED,      /* there is a result */
    TASK_CANCELLED,      /* by its client */
    TASK_FAILED          /* there is a protocol error instead of a result */
};

struct task {
    struct list node;
    struct tasks *all;
    char id[RANDOM_SECRET_DIGITS + 1]; /* cannot be guessed */
    enum task_status status;
    char *message;
    time_t created, updated;
    uint64_t created_ms, ended_ms; /* loop time */
    struct strbuf end;             /* COMPLETED: members of the result; FAILED: of the error */
    json_t *inputs, *responses;    /* INPUT_REQUIRED: what is still missing; what has arrived */
    void (*answered)(void *arg, const json_t *responses);
    void (*cancel)(void *arg);
    void *arg;
};

struct tasks {
    uv_loop_t *loop;
    struct list list; /* of struct task, the oldest first */
    size_t count;
};

static const char *const status_names[] = {
    [TASK_WORKING] = "working",     [TASK_INPUT_REQUIRED] = "input_required",
    [TASK_COMPLETED] = "completed", [TASK_CANCELLED] = "cancelled",
    [TASK_FAILED] = "failed",
};

static bool has_ended(const struct task *t)
{
    return t->status != TASK_WORKING && t->status != TASK_INPUT_REQUIRED;
}

/* A task that has ended keeps its status: false. Any other takes the new one. */
static bool move(struct task *t, enum task_status status)
{
    if (has_ended(t))
        return false;
    t->status = status;
    t->updated = time(NULL);
    if (has_ended(t))
        t->ended_ms = uv_now(t->all->loop);
    return true;
}

struct tasks *tasks_new(uv_loop_t *loop)
{
    struct tasks *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    list_init(&all->list);
    return all;
}

static void task_free(struct task *t)
{
    list_remove(&t->node);
    t->all->count--;
    json_decref(t->inputs);
    json_decref(t->responses);
    strbuf_fini(&t->end);
    free(t->message);
    free(t);
}

void tasks_free(struct tasks *all)
{
    if (all == NULL)
        return;
    while (!list_is_empty(&all->list)) {
        struct task *t = list_entry(all->list.next, struct task, node);
        task_cancel(t);
        task_free(t);
    }
    free(all);
}

static void drop_old(struct tasks *all)
{
    uint64_t now_ms = uv_now(all->loop);
    list_each(struct task, t, &all->list, node)
        if (has_ended(t) && now_ms > t->ended_ms + KEPT_MS)
            task_free(t);
}

struct task *tasks_find(struct tasks *all, const char *id)
{
    drop_old(all);
    list_each(struct task, t, &all->list, node)
        if (strcmp(t->id, id) == 0)
            return t;
    return NULL;
}

struct task *task_new(struct tasks *all, void (*cancel)(void *arg), void *arg)
{
    char id[RANDOM_SECRET_DIGITS + 1];
    drop_old(all);
    if (all->count >= MOST_TASKS || !random_secret(id))
        return NULL;
    struct task *t = xcalloc(1, sizeof *t);
    memcpy(t->id, id, sizeof id);
    t->all = all;
    t->created = t->updated = time(NULL);
    t->created_ms = uv_now(all->loop);
    t->cancel = cancel;
    t->arg = arg;
    list_init(&t->node);
    list_append(&all->list, &t->node);
    all->count++;
    return t;
}

/* While it works, its end is unknown: the time until it may be dropped grows with its age. */
static void add_members(struct strbuf *out, const struct task *t)
{
    uint64_t end_ms = has_ended(t) ? t->ended_ms : uv_now(t->all->loop);
    strbuf_addf(out, "\"taskId\":\"%s\",\"status\":\"%s\"", t->id, status_names[t->status]);
    strbuf_addf(out, ",\"createdAt\":\"%s\",\"lastUpdatedAt\":\"%s\",\"ttlMs\":%llu,\"pollIntervalMs\":%d",
                text_date(t->created).text, text_date(t->updated).text,
                (unsigned long long)(end_ms - t->created_ms + KEPT_MS), POLL_MS);
    if (t->message != NULL && !has_ended(t)) {
        strbuf_adds(out, ",\"statusMessage\":");
        json_write_string(out, t->message, strlen(t->message));
    }
}

void task_answer(struct task *task, struct request *r)
{
    add_members(request_result_of(r, "task"), task);
    request_finish(r);
}

bool task_answer_state(struct task *task, struct request *r)
{
    struct strbuf *out = request_result(r);
    add_members(out, task);
    if (task->status == TASK_COMPLETED || task->status == TASK_FAILED) {
        strbuf_addf(out, ",\"%s\":{", task->status == TASK_COMPLETED ? "result" : "error");
        strbuf_add(out, task->end.bytes, task->end.len);
        strbuf_addc(out, '}');
    }
    if (task->status == TASK_INPUT_REQUIRED) {
        strbuf_adds(out, ",\"inputRequests\":");
        json_write_value(out, task->inputs);
    }
    return request_finish(r);
}

void task_say(struct task *task, const char *message)
{
    xstrset(&task->message, message);
}

void task_end(struct task *task, const struct strbuf *result)
{
    if (move(task, TASK_COMPLETED))
        strbuf_add(&task->end, result->bytes, result->len);
}

void task_break(struct task *task, enum jsonrpc_code code, const char *message)
{
    if (!move(task, TASK_FAILED))
        return;
    strbuf_addf(&task->end, "\"code\":%d,\"message\":", (int)code);
    json_write_string(&task->end, message, strlen(message));
}

void task_ask(struct task *task, json_t *inputs, void (*answered)(void *arg, const json_t *responses))
{
    if (!move(task, TASK_INPUT_REQUIRED)) {
        json_decref(inputs);
        return;
    }
    json_decref(task->inputs);
    json_decref(task->responses);
    task->inputs = inputs;
    task->responses = json_object();
    task->answered = answered;
}

void task_ask_no_more(struct task *task)
{
    move(task, TASK_WORKING);
}

void task_take(struct task *task, const json_t *responses)
{
    const char *key;
    json_t *response;
    if (task->status != TASK_INPUT_REQUIRED)
        return;
    json_object_foreach((json_t *)(uintptr_t)responses, key, response) {
        if (json_object_get(task->inputs, key) == NULL)
            continue;
        json_object_set(task->responses, key, response);
        json_object_del(task->inputs, key);
    }
    if (json_object_size(task->inputs) > 0)
        return;
    move(task, TASK_WORKING);
    task->answered(task->arg, task->responses);
}

void task_cancel(struct task *task)
{
    if (move(task, TASK_CANCELLED) && task->cancel != NULL)
        task->cancel(task->arg);
}

void tasks_refuse(struct request *r)
{
    request_fail_with(r, JSONRPC_MISSING_CAPABILITY,
                      "The client has not declared the extension " TASKS_EXTENSION,
                      "{\"requiredCapabilities\":{\"extensions\":{\"" TASKS_EXTENSION "\":{}}}}");
}
