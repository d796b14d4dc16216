/*
 * Tasks: their states and their messages.
 */
#include "mcp/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/json_write.h"
#include "mcp/request.h"
#include "mcp/task_note.h"

#define MOST_TASKS 64
#define KEPT_MS 3600000 /* after the end */
#define POLL_MS 1000

struct task {
    struct list node;
    struct tasks *all;
    char id[TASK_ID_DIGITS + 1]; /* cannot be guessed */
    enum task_status status;
    char *message;
    time_t created, updated;
    uint64_t created_ms, ended_ms; /* loop time */
    struct strbuf end;             /* COMPLETED: members of the result; FAILED: of the error */
    json_t *inputs, *responses;    /* INPUT_REQUIRED: what is still missing; what has arrived */
    void (*answered)(void *arg, const json_t *responses);
    void (*cancel)(void *arg);
    void *arg;
    bool is_lost; /* it was of a server that has ended: kept until the next is looked for */
};

struct tasks {
    uv_loop_t *loop;
    struct list list; /* of struct task, the oldest first */
    size_t count;
    struct task_note *note; /* NULL: none is kept */
};

/* clang-format off */
const enum task_status task_table[TASK_STATUS_COUNT][TASK_EVENT_COUNT] = {
    [TASK_WORKING] = {
        [TASK_ASKED] = TASK_INPUT_REQUIRED, [TASK_ANSWERED] = TASK_WORKING,
        [TASK_ENDED] = TASK_COMPLETED, [TASK_BROKEN] = TASK_FAILED, [TASK_STOPPED] = TASK_CANCELLED,
    },
    [TASK_INPUT_REQUIRED] = {
        [TASK_ASKED] = TASK_INPUT_REQUIRED, [TASK_ANSWERED] = TASK_WORKING,
        [TASK_ENDED] = TASK_COMPLETED, [TASK_BROKEN] = TASK_FAILED, [TASK_STOPPED] = TASK_CANCELLED,
    },
    [TASK_COMPLETED] = {
        [TASK_ASKED] = TASK_COMPLETED, [TASK_ANSWERED] = TASK_COMPLETED,
        [TASK_ENDED] = TASK_COMPLETED, [TASK_BROKEN] = TASK_COMPLETED, [TASK_STOPPED] = TASK_COMPLETED,
    },
    [TASK_CANCELLED] = {
        [TASK_ASKED] = TASK_CANCELLED, [TASK_ANSWERED] = TASK_CANCELLED,
        [TASK_ENDED] = TASK_CANCELLED, [TASK_BROKEN] = TASK_CANCELLED, [TASK_STOPPED] = TASK_CANCELLED,
    },
    [TASK_FAILED] = {
        [TASK_ASKED] = TASK_FAILED, [TASK_ANSWERED] = TASK_FAILED,
        [TASK_ENDED] = TASK_FAILED, [TASK_BROKEN] = TASK_FAILED, [TASK_STOPPED] = TASK_FAILED,
    },
};
/* clang-format on */

static const char *const status_names[] = {
    [TASK_WORKING] = "working",     [TASK_INPUT_REQUIRED] = "input_required",
    [TASK_COMPLETED] = "completed", [TASK_CANCELLED] = "cancelled",
    [TASK_FAILED] = "failed",
};

static bool has_ended(const struct task *t)
{
    return t->status != TASK_WORKING && t->status != TASK_INPUT_REQUIRED;
}

/* False: its status stays the same. */
static bool move(struct task *t, enum task_event event)
{
    if (has_ended(t))
        return false;
    t->status = task_table[t->status][event];
    t->updated = time(NULL);
    if (has_ended(t))
        t->ended_ms = uv_now(t->all->loop);
    return true;
}

struct tasks *tasks_new(uv_loop_t *loop, const char *directory)
{
    struct tasks *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    all->note = directory == NULL ? NULL : task_note_new(directory);
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
    task_note_free(all->note);
    free(all);
}

uv_loop_t *tasks_loop(const struct tasks *all)
{
    return all->loop;
}

static void drop_old(struct tasks *all)
{
    uint64_t now_ms = uv_now(all->loop);
    list_each(struct task, t, &all->list, node)
        if (t->is_lost || (has_ended(t) && now_ms > t->ended_ms + KEPT_MS))
            task_free(t);
}

static struct task *add(struct tasks *all, time_t created)
{
    struct task *t = xcalloc(1, sizeof *t);
    t->all = all;
    t->created = created;
    t->updated = time(NULL);
    t->created_ms = uv_now(all->loop);
    strbuf_init(&t->end, 0);
    list_init(&t->node);
    list_append(&all->list, &t->node);
    all->count++;
    return t;
}

static struct task *find_lost(struct tasks *all, const char *id)
{
    time_t made;
    if (all->note == NULL || !task_note_is_lost(all->note, id, &made))
        return NULL;
    struct task *t = add(all, made);
    snprintf(t->id, sizeof t->id, "%s", id);
    t->is_lost = true;
    task_break(t, JSONRPC_INTERNAL_ERROR,
               "The server was restarted after this task was created. Its evaluation ended with the server's "
               "process, and its result, if any, is lost; session-history shows what the session holds.");
    return t;
}

struct task *tasks_find(struct tasks *all, const char *id)
{
    drop_old(all);
    list_each(struct task, t, &all->list, node)
        if (strcmp(t->id, id) == 0)
            return t;
    return find_lost(all, id);
}

struct task *task_new(struct tasks *all, void (*cancel)(void *arg), void *arg)
{
    char id[TASK_ID_DIGITS + 1];
    drop_old(all);
    if (all->count >= MOST_TASKS || !random_secret(id))
        return NULL;
    struct task *t = add(all, time(NULL));
    memcpy(t->id, id, sizeof id);
    t->cancel = cancel;
    t->arg = arg;
    if (all->note != NULL)
        task_note_add(all->note, t->id);
    return t;
}

static void add_time(struct strbuf *out, const char *name, time_t when)
{
    char text[32];
    struct tm tm;
    gmtime_r(&when, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    strbuf_addf(out, ",\"%s\":\"%s\"", name, text);
}

/* While it works, its end is unknown: the time until it may be dropped grows with its age. */
static void add_members(struct strbuf *out, const struct task *t)
{
    uint64_t end_ms = has_ended(t) ? t->ended_ms : uv_now(t->all->loop);
    strbuf_addf(out, "\"taskId\":\"%s\",\"status\":\"%s\"", t->id, status_names[t->status]);
    add_time(out, "createdAt", t->created);
    add_time(out, "lastUpdatedAt", t->updated);
    strbuf_addf(out, ",\"ttlMs\":%llu,\"pollIntervalMs\":%d",
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

void task_answer_state(struct task *task, struct request *r)
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
    request_finish(r);
}

void task_say(struct task *task, const char *message)
{
    xstrset(&task->message, message);
}

void task_end(struct task *task, const struct strbuf *result)
{
    if (move(task, TASK_ENDED))
        strbuf_add(&task->end, result->bytes, result->len);
}

void task_break(struct task *task, enum jsonrpc_code code, const char *message)
{
    if (!move(task, TASK_BROKEN))
        return;
    strbuf_addf(&task->end, "\"code\":%d,\"message\":", (int)code);
    json_write_string(&task->end, message, strlen(message));
}

void task_ask(struct task *task, json_t *inputs, void (*answered)(void *arg, const json_t *responses))
{
    if (!move(task, TASK_ASKED)) {
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
    move(task, TASK_ANSWERED);
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
    move(task, TASK_ANSWERED);
    task->answered(task->arg, task->responses);
}

void task_cancel(struct task *task)
{
    if (move(task, TASK_STOPPED) && task->cancel != NULL)
        task->cancel(task->arg);
}

void tasks_refuse(struct request *r)
{
    request_fail_with(r, JSONRPC_MISSING_CAPABILITY,
                      "The client has not declared the extension " TASKS_EXTENSION,
                      "{\"requiredCapabilities\":{\"extensions\":{\"" TASKS_EXTENSION "\":{}}}}");
}
