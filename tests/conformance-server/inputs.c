/*
 * Fixtures whose result asks for input, as in 2026-07-28: the client repeats the request with the answers and
 * the state that it was given.
 *
 * Nothing is kept between two rounds. A returned state is the server's own if it begins with the key, which
 * cannot be guessed and differs in each process.
 */
#include <stdio.h>
#include <string.h>

#include "fixtures.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/revisions.h"
#include "mcp/json_text.h"

#define MOST_INPUTS 3
#define MOST_ROUNDS 2

struct input {
    const char *key, *capability, *method, *params;
};

#define ASK_FOR(property)                                                                                    \
    "{\"mode\":\"form\",\"message\":\"Please "                                                               \
    "say.\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" property                            \
    "\":{\"type\":\"string\"}},\"required\":[\"" property "\"]}}"
#define CONFIRM                                                                                              \
    "{\"mode\":\"form\",\"message\":\"Go "                                                                   \
    "on?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},"         \
    "\"required\":[\"ok\"]}}"
#define SAMPLE(text)                                                                                         \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text                      \
    "\"}}],\"maxTokens\":100}"
#define ELICIT(key, params)                                                                                  \
    {                                                                                                        \
        key, "elicitation", "elicitation/create", params                                                     \
    }
#define CREATE(key, text)                                                                                    \
    {                                                                                                        \
        key, "sampling", "sampling/createMessage", SAMPLE(text)                                              \
    }
#define ROOTS(key)                                                                                           \
    {                                                                                                        \
        key, "roots", "roots/list", "{}"                                                                     \
    }

struct asking {
    const char *name;
    bool is_prompt, has_state;
    struct input rounds[MOST_ROUNDS][MOST_INPUTS];
    const char *end; /* its answer; NULL: a greeting */
};

static const struct asking table[] = {
    {"test_input_required_result_elicitation", false, false, {{ELICIT("user_name", ASK_FOR("name"))}}, NULL},
    {"test_streaming_elicitation", false, false, {{ELICIT("user_name", ASK_FOR("name"))}}, NULL},
    {"test_input_required_result_sampling",
     false,
     false,
     {{CREATE("capital_question", "What is the capital of France?")}},
     "The client sampled."},
    {"test_input_required_result_list_roots",
     false,
     false,
     {{ROOTS("client_roots")}},
     "The client has named its roots."},
    {"test_input_required_result_request_state", false, true, {{ELICIT("confirm", CONFIRM)}}, "state-ok"},
    {"test_input_required_result_tampered_state", false, true, {{ELICIT("confirm", CONFIRM)}}, "state-ok"},
    {
        "test_input_required_result_multiple_inputs",
        false,
        true,
        {{ELICIT("user_name", ASK_FOR("name")), CREATE("greeting", "Write a greeting."),
          ROOTS("client_roots")}},
        "All three have come.",
    },
    {"test_input_required_result_multi_round",
     false,
     true,
     {{ELICIT("step1", ASK_FOR("name"))}, {ELICIT("step2", ASK_FOR("color"))}},
     "Both rounds are over."},
    {
        "test_input_required_result_capabilities",
        false,
        false,
        {{CREATE("sample", "Say something."), ELICIT("user_name", ASK_FOR("name")), ROOTS("client_roots")}},
        "What could be asked was answered.",
    },
    {"test_input_required_result_prompt",
     true,
     false,
     {{ELICIT("user_context", ASK_FOR("context"))}},
     "The context has come."},
};

#define COUNT (sizeof table / sizeof table[0])

static const struct asking *find(bool is_prompt, const char *name)
{
    for (size_t i = 0; name != NULL && i < COUNT; i++)
        if (table[i].is_prompt == is_prompt && strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void write_state(char *out, size_t size, const char *key, const struct asking *a, int round)
{
    snprintf(out, size, "%s.%s.%d", key, a->name, round);
}

/* The round that the request belongs to; -1: its state is not the server's. */
static int find_round(const struct asking *a, const json_t *params, const char *key)
{
    const json_t *state = json_object_get(params, "requestState");
    char ours[200];
    if (state == NULL || !a->has_state)
        return 0;
    for (int round = 0; json_is_string(state) && round < MOST_ROUNDS; round++) {
        write_state(ours, sizeof ours, key, a, round);
        if (strcmp(ours, json_string_value(state)) == 0)
            return round;
    }
    return -1;
}

static bool is_answer(const struct input *input, const json_t *response)
{
    if (strcmp(input->capability, "elicitation") == 0)
        return json_is_string(json_object_get(response, "action"));
    if (strcmp(input->capability, "sampling") == 0)
        return json_is_string(json_object_get(response, "role"));
    return json_is_array(json_object_get(response, "roots"));
}

/* Ask for the round's missing input. False: none is missing. */
static bool ask(struct request *r, const struct asking *a, int round, const json_t *responses,
                const char *key)
{
    const struct input *inputs = a->rounds[round];
    struct strbuf wanted;
    bool is_missing = false;
    size_t askable = 0;
    strbuf_init(&wanted, 0);
    for (size_t i = 0; i < MOST_INPUTS && inputs[i].key != NULL; i++) {
        if (!json_is_object(json_object_get(request_arrival(r)->capabilities, inputs[i].capability)))
            continue;
        askable++;
        is_missing = is_missing || !is_answer(&inputs[i], json_object_get(responses, inputs[i].key));
        strbuf_addf(&wanted, "%s\"%s\":{\"method\":\"%s\",\"params\":%s}", wanted.len > 0 ? "," : "",
                    inputs[i].key, inputs[i].method, inputs[i].params);
    }
    if (askable == 0) {
        char data[100];
        snprintf(data, sizeof data, "{\"requiredCapabilities\":{\"%s\":{}}}", inputs[0].capability);
        request_fail_with(r, JSONRPC_MISSING_CAPABILITY, "The client has not declared what this needs", data);
    } else if (is_missing) {
        struct strbuf *out = request_result_of(r, "input_required");
        strbuf_addf(out, "\"inputRequests\":{%s}", strbuf_string(&wanted));
        if (a->has_state) {
            char state[200];
            write_state(state, sizeof state, key, a, round);
            strbuf_addf(out, ",\"requestState\":\"%s\"", state);
        }
        request_finish(r);
    }
    strbuf_fini(&wanted);
    return askable == 0 || is_missing;
}

static void finish(struct request *r, const struct asking *a, const json_t *responses)
{
    if (a->is_prompt) {
        struct strbuf *out = request_result(r);
        strbuf_addf(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"%s\"}}]",
                    a->end);
        request_finish(r);
    } else if (a->end != NULL) {
        fixture_answer_text(r, "%s", a->end);
    } else {
        const char *name = json_string_value(
            json_object_get(json_object_get(json_object_get(responses, "user_name"), "content"), "name"));
        fixture_answer_text(r, "Hello, %s!", name == NULL ? "whoever you are" : name);
    }
}

bool inputs_take(struct request *r, const json_t *params, const char *key)
{
    bool is_prompt = strcmp(request_arrival(r)->method->name, "prompts/get") == 0;
    const struct asking *a = find(is_prompt, json_string_value(json_object_get(params, "name")));
    if (a == NULL)
        return false;
    if (!request_revision(r)->is_modern) {
        request_fail(r, JSONRPC_INVALID_PARAMS, "This asks for input in a way that came with 2026-07-28");
        return true;
    }
    const json_t *responses = json_object_get(params, "inputResponses");
    int round = find_round(a, params, key);
    if (round < 0) {
        request_fail(r, JSONRPC_INVALID_PARAMS, "Invalid params: requestState is not what was given");
        return true;
    }
    if (ask(r, a, round, responses, key))
        return true;
    if (round + 1 < MOST_ROUNDS && a->rounds[round + 1][0].key != NULL)
        ask(r, a, round + 1, NULL, key);
    else
        finish(r, a, responses);
    return true;
}

void inputs_add_items(struct strbuf *out, const char *list)
{
    bool are_prompts = strcmp(list, "prompts") == 0;
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].is_prompt == are_prompts)
            strbuf_addf(out, ",{\"name\":\"%s\",\"description\":\"Asks for input.\"%s}", table[i].name,
                        are_prompts ? "" : ",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}");
}
