/*
 * Responsible for calls of tools in progress: which request or task each belongs to at the moment, and how
 * its code's questions reach the person.
 */
#include "mcp/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "calls/call.h"
#include "calls/toolbox.h"
#include "mcp/client.h"
#include "mcp/jsonrpc.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/tasks.h"
#include "mcp/tool_answer.h"
#include "proc/loop_handle.h"

#define TASK_AFTER_MS 3000             /* a call that takes longer is answered with a task */
#define MOST_PARKED 64                 /* of a client; the code of others reads end of file */
#define LONGEST_LINE ((size_t)4 << 20) /* a longer answer does not fit into a frame to the Lisp */
#define ID "cl-mcp-%" PRIu64           /* of an elicitation/create */
#define KEY "input"                    /* of the only question in inputRequests */

struct call {
    struct list node; /* in client.questions if a question is open, in client.parked if it is parked */
    struct client *client;
    const struct revision *revision;
    struct request *request; /* NULL: parked, or answered with ${task} */
    struct tool_call *work;  /* NULL: it is only starting */
    int64_t question;        /* the last one of its code */
    uint64_t asked;          /* the number of the elicitation/create that is open; 0: none */
    char *prompt;            /* parked; NULL: no answer came in time */
    json_t *name, *given;    /* what a repeated call must have, too; the latter may be NULL */
    uv_timer_t *timer;       /* until it becomes a task; NULL: its client accepts none */
    struct task *task;
    char state[RANDOM_SECRET_DIGITS + 1]; /* parked: the requestState, valid once */
};

/* A client that declares modes, but not forms, shows no forms. */
static bool shows_forms(const struct request *r)
{
    const json_t *declared = json_object_get(request_arrival(r)->capabilities, "elicitation");
    return json_is_object(declared) &&
           (json_object_size(declared) == 0 || json_is_object(json_object_get(declared, "form")));
}

/* Only while the message is being handled with which ${r} came. */
static bool can_be_asked(const struct request *r)
{
    if (request_revision(r)->is_modern)
        return shows_forms(r); /* the answer itself asks */
    return request_revision(r)->has_elicitation && request_arrival(r)->batch == NULL && request_may_send(r) &&
           shows_forms(r);
}

static void stop_asking(struct call *c)
{
    list_remove(&c->node);
    c->asked = 0;
}

/* Tell the client that the answer is no longer needed. */
static void withdraw(struct call *c)
{
    if (c->asked == 0)
        return;
    struct strbuf text = {0};
    jsonrpc_begin_notification(&text, "notifications/cancelled");
    strbuf_addf(&text, "\"requestId\":\"" ID "\",\"reason\":\"The code no longer waits for it.\"", c->asked);
    jsonrpc_end_notification(&text);
    request_send(c->request, &text);
    strbuf_fini(&text);
    stop_asking(c);
}

static void call_free(struct call *c)
{
    withdraw(c);
    list_remove(&c->node);
    loop_handle_free(c->timer);
    json_decref(c->name);
    json_decref(c->given);
    free(c->prompt);
    free(c);
}

static void give_up(void *arg)
{
    struct call *c = arg;
    call_cancel(c->work);
    call_free(c);
}

/* A parked call that its client has not repeated in time ends without an answer: its client has one already.
 */
static void on_done(void *arg, const struct tool_result *result)
{
    const struct call c = *(struct call *)arg;
    call_free(arg);
    if (c.request != NULL)
        tool_answer(c.request, result);
    if (c.task == NULL)
        return;
    struct strbuf out = {0};
    tool_answer_add(&out, c.revision, result);
    task_end(c.task, &out);
    strbuf_fini(&out);
}

static void on_progress(void *arg, double elapsed_s, const char *message)
{
    struct call *c = arg;
    if (c->task != NULL)
        task_say(c->task, message);
    else if (c->request != NULL)
        request_progress(c->request, elapsed_s, message);
}

static json_t *question_params(const char *prompt)
{
    struct strbuf message = {0};
    strbuf_adds(&message, "The Lisp code that runs waits for a line of input");
    strbuf_adds(&message, prompt[0] == '\0' ? "." : ": ");
    utf8_repair(&message, prompt, strlen(prompt));
    json_t *params = json_pack("{s:s,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}", "message", strbuf_string(&message),
                               "requestedSchema", "type", "object", "properties", "line", "type", "string",
                               "title", "Input", "required", "line");
    strbuf_fini(&message);
    return params;
}

static json_t *question_inputs(const char *prompt)
{
    return json_pack("{s:{s:s,s:o}}", KEY, "method", "elicitation/create", "params", question_params(prompt));
}

/* Pass on a result of elicitation/create; NULL: an error. Treat any answer without a text line as a refusal,
 * which leaves the code at the end of its input; a cancelled question stops it. An empty field may be left
 * out. */
static void pass_on(struct call *c, const json_t *result)
{
    const char *action = json_string_value(json_object_get(result, "action"));
    const json_t *line = json_object_get(json_object_get(result, "content"), "line");
    bool is_accepted = action != NULL && strcmp(action, "accept") == 0;
    if (action != NULL && strcmp(action, "cancel") == 0)
        call_dismiss_question(c->work, c->question);
    else if (is_accepted && line == NULL)
        call_answer_question(c->work, c->question, "", 0);
    else if (is_accepted && json_is_string(line) && json_string_length(line) <= LONGEST_LINE)
        call_answer_question(c->work, c->question, json_string_value(line), json_string_length(line));
    else
        call_answer_question(c->work, c->question, NULL, 0);
}

static bool ask_by_request(struct call *c, const char *prompt)
{
    if (c->client->sends_no_more)
        return false;
    c->asked = ++c->client->questions_asked;
    list_append(&c->client->questions, &c->node);
    struct strbuf text = {0};
    strbuf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"" ID "\",\"method\":\"elicitation/create\",\"params\":",
                c->asked);
    json_write_new(&text, question_params(prompt));
    strbuf_addc(&text, '}');
    request_send(c->request, &text);
    strbuf_fini(&text);
    return true;
}

/* Answer the request with the question. Whoever knows the state may answer it, so it cannot be guessed. */
static bool park(struct call *c, const char *prompt)
{
    struct request *r = c->request;
    if (!can_be_asked(r) || c->client->sends_no_more || list_count(&c->client->parked) >= MOST_PARKED ||
        !random_secret(c->state))
        return false;
    xstrset(&c->prompt, prompt);
    c->request = NULL;
    list_append(&c->client->parked, &c->node);
    struct strbuf *out = request_result_of(r, "input_required");
    strbuf_adds(out, "\"inputRequests\":");
    json_write_new(out, question_inputs(c->prompt));
    strbuf_addf(out, ",\"requestState\":\"%s\"", c->state);
    request_finish(r);
    return true;
}

/* False: there are too many tasks, so its client waits. */
static bool become_task(struct call *c)
{
    struct request *r = c->request;
    if (c->task != NULL)
        return true;
    c->task = task_new(c->client->options.toolbox->tasks, give_up, c);
    if (c->task == NULL)
        return false;
    c->request = NULL;
    uv_timer_stop(c->timer);
    task_answer(c->task, r);
    call_let_go(c->work);
    return true;
}

static void on_due(uv_timer_t *timer)
{
    become_task(timer->data);
}

static void on_responses(void *arg, const json_t *responses)
{
    pass_on(arg, json_object_get(responses, KEY));
}

static bool ask_by_task(struct call *c, const char *prompt)
{
    if (!become_task(c))
        return false;
    task_ask(c->task, question_inputs(prompt), on_responses);
    return true;
}

static void on_question(void *arg, struct tool_call *work, int64_t question, const char *prompt)
{
    struct call *c = arg;
    withdraw(c);
    if (prompt == NULL && c->task != NULL)
        task_ask_no_more(c->task);
    if (prompt == NULL) {
        xstrset(&c->prompt, NULL);
        return;
    }
    c->work = work;
    c->question = question;
    bool is_asked = c->timer != NULL         ? ask_by_task(c, prompt)
                    : c->request == NULL     ? false
                    : c->revision->is_modern ? park(c, prompt)
                                             : ask_by_request(c, prompt);
    if (!is_asked)
        call_answer_question(work, question, NULL, 0);
}

void calls_start(struct request *r, const struct tool *tool, json_t *arguments, const json_t *params,
                 const struct tool_call_options *options)
{
    struct call *c = xcalloc(1, sizeof *c);
    struct tool_call_options mine = *options;
    struct toolbox *toolbox = request_client(r)->options.toolbox;
    list_init(&c->node);
    c->client = request_client(r);
    c->revision = request_revision(r);
    c->request = r;
    c->name = json_incref(json_object_get(params, "name"));
    c->given = json_incref(json_object_get(params, "arguments"));
    if (toolbox != NULL && toolbox->tasks != NULL && request_can_extension(r, TASKS_EXTENSION))
        c->timer = loop_handle_timer(toolbox->loop, c);
    mine.wants_progress =
        request_arrival(r)->progress_token.bytes != NULL || c->timer != NULL; /* the message of a task */
    mine.done = on_done;
    mine.on_progress = on_progress;
    mine.on_question = can_be_asked(r) ? on_question : NULL;
    mine.arg = c;
    /* NULL: the call has already finished, and ${c} was freed with its answer. */
    struct tool_call *work = call_start(toolbox, tool, arguments, &mine);
    if (work == NULL)
        return;
    c->work = work;
    request_await(r, c, give_up);
    if (c->timer != NULL)
        uv_timer_start(c->timer, on_due, TASK_AFTER_MS, 0);
}

void calls_use(struct request *r, const struct tool *tool, json_t *arguments, tool_call_done *done)
{
    const struct connection_options *options = &request_client(r)->options;
    struct tool_call *work = call_start(
        options->toolbox, tool, arguments,
        &(struct tool_call_options){
            .default_session = options->default_session, .wants_structured = true, .done = done, .arg = r});
    /* NULL: the call has already finished, and ${r} was freed with its answer. */
    if (work != NULL)
        request_await(r, work, call_cancel);
}

static struct call *find_parked(const struct client *client, const char *state)
{
    list_each(struct call, c, &client->parked, node)
        if (state != NULL && strcmp(c->state, state) == 0)
            return c;
    return NULL;
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || (a != NULL && b != NULL && json_equal(a, b));
}

bool calls_resume(struct request *r, const json_t *params)
{
    const json_t *state = json_object_get(params, "requestState");
    if (!request_revision(r)->is_modern || state == NULL)
        return false;
    struct call *c = find_parked(request_client(r), json_string_value(state));
    if (c == NULL || !is_same(c->name, json_object_get(params, "name")) ||
        !is_same(c->given, json_object_get(params, "arguments"))) {
        request_fail(r, JSONRPC_INVALID_PARAMS,
                     "Invalid params: requestState belongs to no call of this kind that is waiting for "
                     "input. It is valid once, for ten minutes, while the evaluation waits");
        return true;
    }
    list_remove(&c->node);
    c->request = r;
    request_await(r, c, give_up);
    const json_t *answer = json_object_get(json_object_get(params, "inputResponses"), KEY);
    if (c->prompt == NULL)
        return true; /* too late to answer, but the request gets the result */
    if (answer == NULL)
        on_question(c, c->work, c->question, c->prompt);
    else
        pass_on(c, answer);
    return true;
}

bool calls_take(struct client *client, const json_t *response)
{
    const char *id = json_string_value(json_object_get(response, "id"));
    list_each(struct call, c, &client->questions, node) {
        char expected[40];
        snprintf(expected, sizeof expected, ID, c->asked);
        if (id != NULL && strcmp(id, expected) == 0) {
            stop_asking(c);
            pass_on(c, json_object_get(response, "result"));
            return true;
        }
    }
    return false;
}

void calls_cancel_parked(struct client *client)
{
    while (!list_is_empty(&client->parked))
        give_up(list_entry(client->parked.next, struct call, node));
}

void calls_no_more_input(struct client *client)
{
    client->sends_no_more = true;
    while (!list_is_empty(&client->questions)) {
        struct call *c = list_entry(client->questions.next, struct call, node);
        stop_asking(c);
        pass_on(c, NULL);
    }
    calls_cancel_parked(client);
}
