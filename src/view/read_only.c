/*
 * Responsible for telling messages that change nothing.
 */
#include "view/read_only.h"

#include <jansson.h>
#include <string.h>

#include "mcp/client.h"
#include "tools/table.h"

static bool is_reading(const char *method, const json_t *params)
{
    static const char *const reading[] = {"ping",           "server/discover",          "tools/list",
                                          "resources/list", "resources/templates/list", "resources/read",
                                          "prompts/list",   "subscriptions/listen"};
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
        if (strcmp(method, reading[i]) == 0)
            return true;
    const char *name = json_string_value(json_object_get(params, "name"));
    const struct tool *tool =
        strcmp(method, "tools/call") == 0 && name != NULL ? registry_find(&tool_table, name) : NULL;
    return tool != NULL && tool->is_read_only;
}

/* Running code waits for an answer of a person who has said that they answer. What another client reads is
 * taken from the agent, for example what happened since its last reply. */
static bool is_onlooker(const json_t *params)
{
    static const struct client unknown;
    return client_author(&unknown, params).kind == AUTHOR_PERSON &&
           json_object_get(params, "answersQuestions") == NULL;
}

bool read_only_allows(const char *bytes, size_t len)
{
    json_t *message = json_loadb(bytes, len, 0, NULL);
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    bool is_allowed = method != NULL && is_reading(method, params) && is_onlooker(params);
    json_decref(message);
    return is_allowed;
}
