/*
 * Responsible for telling messages that change nothing.
 */
#include "view/read_only.h"

#include <jansson.h>
#include <string.h>

#include "tools/registry.h"

static bool is_reading(const char *method, const json_t *params)
{
    static const char *const reading[] = {"ping",           "server/discover",          "tools/list",
                                          "resources/list", "resources/templates/list", "resources/read",
                                          "prompts/list",   "subscriptions/listen"};
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
        if (strcmp(method, reading[i]) == 0)
            return true;
    const char *name = json_string_value(json_object_get(params, "name"));
    const struct tool *tool = strcmp(method, "tools/call") == 0 && name != NULL ? registry_find(name) : NULL;
    return tool != NULL && tool->is_read_only;
}

bool read_only_allows(const char *bytes, size_t len)
{
    json_t *message = json_loadb(bytes, len, 0, NULL);
    const char *method = json_string_value(json_object_get(message, "method"));
    bool is_allowed = method != NULL && is_reading(method, json_object_get(message, "params"));
    json_decref(message);
    return is_allowed;
}
