/*
 * Any bytes as the input of a client's hook, and as a patch. Invariants: an answer is one line of JSON that
 * allows nothing, and the paths that a patch names lie within it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/hook_answer.h"
#include "cli/patch_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_patch(const char *text, size_t size)
{
    struct patch_text patch;
    struct patch_file file = {.path = NULL};
    strbuf_init(&file.content, 0);
    patch_text_init(&patch, text, size);
    while (patch_text_next(&patch, &file)) {
        require(file.path >= text && file.path_len > 0 && file.path + file.path_len <= text + size);
        require(file.content.len <= size + 1);
    }
    strbuf_fini(&file.content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size, so that the sanitizer detects an overrun. */
    char *text = malloc(size > 0 ? size : 1);
    struct strbuf out;
    struct err err = {0};
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    check_patch(text, size);
    strbuf_init(&out, 0);
    if (!hook_answer(text, size, &out, &err))
        require(out.len == 0 && err.code != ERR_NONE);
    if (out.len > 0) {
        json_t *answer = json_loadb(out.bytes, out.len, 0, NULL);
        require(json_is_object(answer) && memchr(out.bytes, '\n', out.len) == out.bytes + out.len - 1);
        require(strstr(out.bytes, "\"allow\"") == NULL);
        json_decref(answer);
    }
    strbuf_fini(&out);
    free(text);
    return 0;
}
