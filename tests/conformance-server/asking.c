/*
 * Fixtures that ask the client something while they run, as in the revisions up to 2025-11-25.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "fixtures.h"
#include "base/json_write.h"
#include "mcp/request.h"
#include "mcp/revisions.h"

#define FORM(message, properties, required)                                                                  \
    "{\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties      \
    "},\"required\":[" required "]}}"

/* A question that the client has not answered yet. */
struct question {
    struct list node;
    struct request *request;
    long number;
    void (*on_answer)(struct request *r, const json_t *result); /* ${result} NULL: the client refused */
};

static struct list questions = {&questions, &questions};
static long last_number;

static void question_free(void *pending)
{
    struct question *q = pending;
    list_remove(&q->node);
    free(q);
}

/* ${on_answer} must answer ${r}. It is not called if ${r} is cancelled. */
static void ask(struct request *r, const char *method, const char *params,
                void (*on_answer)(struct request *r, const json_t *result))
{
    struct question *q = xcalloc(1, sizeof *q);
    q->request = r;
    q->number = ++last_number;
    q->on_answer = on_answer;
    list_init(&q->node);
    list_append(&questions, &q->node);
    request_await(r, q, question_free);
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"server-%ld\",\"method\":\"%s\",\"params\":%s}",
                q->number, method, params);
    request_send(r, &text);
    strbuf_fini(&text);
}

void asking_take_response(const json_t *response)
{
    const char *id = json_string_value(json_object_get(response, "id"));
    list_each(struct question, q, &questions, node) {
        char expected[40];
        snprintf(expected, sizeof expected, "server-%ld", q->number);
        if (id == NULL || strcmp(id, expected) != 0)
            continue;
        struct request *r = q->request;
        void (*on_answer)(struct request * r, const json_t *result) = q->on_answer;
        request_await(r, NULL, NULL);
        question_free(q);
        on_answer(r, json_object_get(response, "result"));
        return;
    }
}

static void answer_with(struct request *r, const char *before, const json_t *value)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    fixture_answer_text(r, "%s%s", before, text == NULL ? "none" : text);
    free(text);
}

static void on_sampled(struct request *r, const json_t *result)
{
    const json_t *text = json_object_get(json_object_get(result, "content"), "text");
    if (json_is_string(text))
        fixture_answer_text(r, "LLM response: %s", json_string_value(text));
    else
        answer_with(r, "LLM response: ", result);
}

static void on_elicited(struct request *r, const json_t *result)
{
    answer_with(r, "User response: ", result);
}

static bool is_refused(struct request *r, const char *capability)
{
    if (!request_revision(r)->is_modern && request_arrival(r)->batch == NULL &&
        json_is_object(json_object_get(request_arrival(r)->capabilities, capability)))
        return false;
    fixture_answer_text(r, "This client cannot be asked now, or has not declared %s.", capability);
    return true;
}

static const char *argument(const json_t *params, const char *name)
{
    const char *value = json_string_value(json_object_get(json_object_get(params, "arguments"), name));
    return value == NULL ? "" : value;
}

static void sample(struct request *r, const json_t *params)
{
    if (is_refused(r, "sampling"))
        return;
    const char *prompt = argument(params, "prompt");
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    json_write_string(&text, prompt, strlen(prompt));
    strbuf_adds(&text, "}}],\"maxTokens\":100}");
    ask(r, "sampling/createMessage", strbuf_string(&text), on_sampled);
    strbuf_fini(&text);
}

static void ask_form(struct request *r, const char *form)
{
    if (!is_refused(r, "elicitation"))
        ask(r, "elicitation/create", form, on_elicited);
}

static void elicit(struct request *r, const json_t *params)
{
    const char *message = argument(params, "message");
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_adds(&text, "{\"message\":");
    json_write_string(&text, message, strlen(message));
    strbuf_adds(
        &text, ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\"},"
               "\"email\":{\"type\":\"string\"}},\"required\":[\"username\",\"email\"]}}");
    ask_form(r, strbuf_string(&text));
    strbuf_fini(&text);
}

static void elicit_with_defaults(struct request *r, const json_t *params)
{
    (void)params;
    ask_form(r, FORM("Who is it?",
                     "\"name\":{\"type\":\"string\",\"default\":\"John "
                     "Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},"
                     "\"score\":{\"type\":\"number\",\"default\":95.5},"
                     "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
                     "\"default\":\"active\"},"
                     "\"verified\":{\"type\":\"boolean\",\"default\":true}",
                     ""));
}

static void elicit_choices(struct request *r, const json_t *params)
{
    (void)params;
#define UNTITLED "\"enum\":[\"option1\",\"option2\",\"option3\"]"
#define TITLED                                                                                               \
    "[{\"const\":\"value1\",\"title\":\"First Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"}," \
    "{\"const\":\"value3\",\"title\":\"Third Option\"}]"
    ask_form(r, FORM("Which ones?",
                     "\"untitledSingle\":{\"type\":\"string\"," UNTITLED
                     "},\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED "},"
                     "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
                     "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
                     "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\"," UNTITLED "}},"
                     "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED "}}",
                     ""));
}

#define ONE_STRING(name)                                                                                     \
    ",\"description\":\"Asks the client.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"" name     \
    "\":{\"type\":\"string\"}},"                                                                             \
    "\"required\":[\"" name "\"]}"

const struct fixture asking_tools[] = {
    {.name = "test_sampling", .rest = ONE_STRING("prompt"), .run = sample},
    {.name = "test_elicitation", .rest = ONE_STRING("message"), .run = elicit},
    {.name = "test_elicitation_sep1034_defaults", .run = elicit_with_defaults},
    {.name = "test_elicitation_sep1330_enums", .run = elicit_choices},
    {0},
};
