/*
 * Any bytes as the input of a client's hook, and as a patch in such an input. Invariant: an answer is one
 * line of JSON that allows nothing.
 */
#include <jansson.h>
#include <stdlib.h>

#include "fuzz.h"
#include "cli/hook_answer.h"

static void check(const char *text, size_t size)
{
    struct strbuf out = {0};
    struct err err = {0};
    if (!hook_answer(text, size, &out, &err))
        CHECK(out.len == 0 && err.code != ERR_NONE);
    if (out.len > 0) {
        json_t *answer = json_loadb(out.bytes, out.len, 0, NULL);
        CHECK(json_is_object(answer) && memchr(out.bytes, '\n', out.len) == out.bytes + out.len - 1);
        CHECK(strstr(out.bytes, "\"allow\"") == NULL);
        json_decref(answer);
    }
    strbuf_fini(&out);
}

FUZZ(text, size)
{
    check(text, size);
    json_t *patch = json_stringn(text, size); /* NULL: it is not UTF-8 */
    json_t *event = json_pack("{ss ss s{so*}}", "hook_event_name", "PreToolUse", "tool_name", "apply_patch",
                              "tool_input", "command", patch);
    char *input = json_dumps(event, JSON_COMPACT);
    check(input, strlen(input));
    free(input);
    json_decref(event);
}
