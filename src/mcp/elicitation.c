/*
 * Responsible for questions to the person at the client: which are open, and what their answers mean.
 */
#include "mcp/elicitation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "mcp/client.h"
#include "base/json_write.h"
#include "mcp/jsonrpc.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "tools/tool.h"

#define LONGEST_LINE ((size_t)4 << 20) /* a longer answer does not fit into a frame to the Lisp */
#define ID "cl-mcp-%" PRIu64
#define KEY "input" /* of the only question in inputRequests */

struct elicitation {
    struct list node; /* in client.questions */
    struct request *request;
    uint64_t number;
    elicitation_answered *on_answer;
    void *arg;
};

/* A client that declares modes, but not forms, shows no forms. */
static bool shows_forms(const struct request *r)
{
    const json_t *declared = request_capability(r, "elicitation");
    return json_is_object(declared) &&
           (json_object_size(declared) == 0 || json_is_object(json_object_get(declared, "form")));
}

bool elicitation_is_possible(const struct request *r)
{
    if (request_revision(r)->is_modern)
        return shows_forms(r); /* the answer itself asks */
    return request_revision(r)->has_elicitation && !request_is_in_batch(r) && request_may_send(r) &&
           shows_forms(r);
}

static void add_params(struct strbuf *out, const char *prompt)
{
    struct strbuf message = {0};
    strbuf_addf(&message, "The Lisp code that runs waits for a line of input%s%s",
                prompt[0] == '\0' ? "." : ": ", prompt);
    strbuf_adds(out, "\"message\":");
    json_write_string(out, strbuf_string(&message), message.len);
    strbuf_adds(out,
                ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"line\":{\"type\":\"string\","
                "\"title\":\"Input\"}},\"required\":[\"line\"]}");
    strbuf_fini(&message);
}

void elicitation_add_inputs(struct strbuf *out, const char *prompt)
{
    strbuf_adds(out, "{\"" KEY "\":{\"method\":\"elicitation/create\",\"params\":{");
    add_params(out, prompt);
    strbuf_adds(out, "}}}");
}

const json_t *elicitation_input(const json_t *responses)
{
    return json_object_get(responses, KEY);
}

void elicitation_pass_on(struct tool_call *call, int64_t question, enum elicitation_action action,
                         const char *line, size_t len)
{
    if (action == ELICITATION_CANCELLED)
        tool_call_dismiss(call, question);
    else
        tool_call_answer(call, question, line, len);
}

struct elicitation *elicitation_ask(struct request *r, const char *prompt, elicitation_answered *on_answer,
                                    void *arg)
{
    struct client *client = request_client(r);
    if (client->sends_no_more)
        return NULL;
    struct elicitation *e = xcalloc(1, sizeof *e);
    e->request = r;
    e->number = ++client->questions_asked;
    e->on_answer = on_answer;
    e->arg = arg;
    list_init(&e->node);
    list_append(&client->questions, &e->node);
    struct strbuf text = {0};
    strbuf_addf(&text,
                "{\"jsonrpc\":\"2.0\",\"id\":\"" ID "\",\"method\":\"elicitation/create\",\"params\":{",
                e->number);
    add_params(&text, prompt);
    strbuf_adds(&text, "}}");
    request_send(r, &text);
    strbuf_fini(&text);
    return e;
}

static void drop(struct elicitation *e)
{
    list_remove(&e->node);
    free(e);
}

void elicitation_withdraw(struct elicitation *e)
{
    if (e == NULL)
        return;
    struct strbuf text = {0};
    jsonrpc_begin_notification(&text, "notifications/cancelled");
    strbuf_addf(&text, "\"requestId\":\"" ID "\",\"reason\":\"The code no longer waits for it.\"", e->number);
    jsonrpc_end_notification(&text);
    request_send(e->request, &text);
    strbuf_fini(&text);
    drop(e);
}

/* Treat any answer without a text line as a refusal. An empty field may be left out. */
void elicitation_read(const json_t *result, elicitation_answered *on_answer, void *arg)
{
    const char *action = json_string_value(json_object_get(result, "action"));
    const json_t *line = json_object_get(json_object_get(result, "content"), "line");
    if (action != NULL && strcmp(action, "cancel") == 0)
        on_answer(arg, ELICITATION_CANCELLED, NULL, 0);
    else if (action == NULL || strcmp(action, "accept") != 0)
        on_answer(arg, ELICITATION_DECLINED, NULL, 0);
    else if (line == NULL)
        on_answer(arg, ELICITATION_ACCEPTED, "", 0);
    else if (json_is_string(line) && json_string_length(line) <= LONGEST_LINE)
        on_answer(arg, ELICITATION_ACCEPTED, json_string_value(line), json_string_length(line));
    else
        on_answer(arg, ELICITATION_DECLINED, NULL, 0);
}

static void deliver(struct elicitation *e, const json_t *result)
{
    elicitation_answered *on_answer = e->on_answer;
    void *arg = e->arg;
    drop(e);
    elicitation_read(result, on_answer, arg);
}

bool elicitation_take(struct client *client, const json_t *response)
{
    const char *id = json_string_value(json_object_get(response, "id"));
    list_each(struct elicitation, e, &client->questions, node) {
        char expected[40];
        snprintf(expected, sizeof expected, ID, e->number);
        if (id != NULL && strcmp(id, expected) == 0) {
            deliver(e, json_object_get(response, "result"));
            return true;
        }
    }
    return false;
}

void elicitation_end(struct client *client)
{
    client->sends_no_more = true;
    while (!list_is_empty(&client->questions))
        deliver(list_entry(client->questions.next, struct elicitation, node), NULL);
}
