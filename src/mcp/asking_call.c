/*
 * Responsible for calls whose code may ask: which request each belongs to at the moment, and its question.
 * elicitation.c knows what a question and its answer look like.
 */
#include "mcp/asking_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"
#include "mcp/client.h"
#include "mcp/elicitation.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/tool_answer.h"
#include "tools/tool.h"

#define MOST_PARKED 64 /* of a client; the code of others reads end of file */

struct asking_call {
    struct list node;        /* parked: in client.parked */
    struct request *request; /* NULL: parked */
    struct client *client;
    struct tool_call *call;          /* NULL: it is only starting */
    struct elicitation *elicitation; /* NULL: no question is open */
    int64_t question;
    char *prompt;                         /* parked; NULL: no answer came in time */
    json_t *name;                         /* since 2026-07-28: what the repeated call must have, too */
    json_t *given;                        /* its arguments; may be NULL */
    char state[RANDOM_SECRET_DIGITS + 1]; /* parked: the requestState, valid once */
};

static void asking_call_free(struct asking_call *a)
{
    list_remove(&a->node);
    elicitation_withdraw(a->elicitation);
    json_decref(a->name);
    json_decref(a->given);
    free(a->prompt);
    free(a);
}

static void give_up(void *arg)
{
    struct asking_call *a = arg;
    tool_call_cancel(a->call);
    asking_call_free(a);
}

/* A parked call that its client has not repeated in time ends without an answer: its client has one already.
 */
static void on_done(void *arg, const struct tool_result *result)
{
    struct asking_call *a = arg;
    struct request *r = a->request;
    asking_call_free(a);
    if (r != NULL)
        tool_answer(r, result);
}

static void on_progress(void *arg, double elapsed_s, const char *message)
{
    struct asking_call *a = arg;
    if (a->request != NULL)
        request_progress(a->request, elapsed_s, message);
}

static void on_line(void *arg, enum elicitation_action action, const char *line, size_t len)
{
    struct asking_call *a = arg;
    a->elicitation = NULL;
    elicitation_pass_on(a->call, a->question, action, line, len);
}

static bool has_room(const struct client *client)
{
    return list_count(&client->parked) < MOST_PARKED;
}

/* Answer the request with the question. Whoever knows the state may answer it, so it cannot be guessed. */
static bool park(struct asking_call *a, const char *prompt)
{
    struct request *r = a->request;
    if (!elicitation_is_possible(r) || a->client->sends_no_more || !has_room(a->client) ||
        !random_secret(a->state))
        return false;
    char *kept = xstrdup(prompt);
    free(a->prompt);
    a->prompt = kept;
    a->request = NULL;
    list_append(&a->client->parked, &a->node);
    request_await(r, NULL, NULL);
    struct strbuf *out = request_result_of(r, "input_required");
    strbuf_adds(out, "\"inputRequests\":");
    elicitation_add_inputs(out, a->prompt);
    strbuf_addf(out, ",\"requestState\":\"%s\"", a->state);
    request_finish(r);
    return true;
}

static void on_question(void *arg, struct tool_call *call, int64_t question, const char *prompt)
{
    struct asking_call *a = arg;
    bool is_asked = false;
    elicitation_withdraw(a->elicitation);
    a->elicitation = NULL;
    if (prompt == NULL) {
        free(a->prompt);
        a->prompt = NULL;
        return;
    }
    a->question = question;
    if (a->request != NULL && request_revision(a->request)->is_modern) {
        is_asked = park(a, prompt);
    } else if (a->request != NULL) {
        a->elicitation = elicitation_ask(a->request, prompt, on_line, a);
        is_asked = a->elicitation != NULL;
    }
    if (!is_asked)
        tool_call_answer(call, question, NULL, 0);
}

void asking_call_start(struct request *r, const struct tool *tool, json_t *arguments, const json_t *params,
                       const struct tool_call_options *options)
{
    struct asking_call *a = xcalloc(1, sizeof *a);
    struct tool_call_options mine = *options;
    list_init(&a->node);
    a->request = r;
    a->client = request_client(r);
    a->name = json_incref(json_object_get(params, "name"));
    a->given = json_incref(json_object_get(params, "arguments"));
    mine.done = on_done;
    mine.on_progress = on_progress;
    mine.on_question = on_question;
    mine.arg = a;
    /* NULL: the call has already finished, and ${a} was freed with its answer. */
    struct tool_call *call = tool_call_start(a->client->options.toolbox, tool, arguments, &mine);
    if (call == NULL)
        return;
    a->call = call;
    request_await(r, a, give_up);
}

static struct asking_call *find(const struct client *client, const char *state)
{
    list_each(struct asking_call, a, &client->parked, node)
        if (state != NULL && strcmp(a->state, state) == 0)
            return a;
    return NULL;
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || (a != NULL && b != NULL && json_equal(a, b));
}

bool asking_call_resume(struct request *r, const json_t *params)
{
    const json_t *state = json_object_get(params, "requestState");
    if (!request_revision(r)->is_modern || state == NULL)
        return false;
    struct asking_call *a = find(request_client(r), json_string_value(state));
    if (a == NULL || !is_same(a->name, json_object_get(params, "name")) ||
        !is_same(a->given, json_object_get(params, "arguments"))) {
        request_fail(r, JSONRPC_INVALID_PARAMS,
                     "Invalid params: requestState belongs to no call of this kind that is waiting for "
                     "input. It is valid once, for ten minutes, while the evaluation waits");
        return true;
    }
    list_remove(&a->node);
    a->request = r;
    request_await(r, a, give_up);
    const json_t *answer = elicitation_input(json_object_get(params, "inputResponses"));
    if (a->prompt == NULL)
        return true; /* too late to answer, but the request gets the result */
    if (answer == NULL)
        on_question(a, a->call, a->question, a->prompt);
    else
        elicitation_read(answer, on_line, a);
    return true;
}

void asking_calls_cancel(struct client *client)
{
    while (!list_is_empty(&client->parked))
        give_up(list_entry(client->parked.next, struct asking_call, node));
}
