/*
 * Any bytes as the input of a client's hook, and as a patch. Invariants: an answer is one line of JSON that
 * allows nothing, and the paths that a patch names lie within it.
 */
#include <jansson.h>

#include "fuzz.h"
#include "cli/hook_answer.h"
#include "cli/patch_text.h"

static void check_patch(const char *text, size_t size)
{
    struct patch_text patch;
    struct patch_file file = {.path = NULL};
    strbuf_init(&file.content, 0);
    patch_text_init(&patch, text, size);
    while (patch_text_next(&patch, &file)) {
        CHECK(file.path >= text && file.path_len > 0 && file.path + file.path_len <= text + size);
        CHECK(file.content.len <= size + 1);
    }
    strbuf_fini(&file.content);
}

FUZZ(text, size)
{
    struct strbuf out;
    struct err err = {0};
    check_patch(text, size);
    strbuf_init(&out, 0);
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
