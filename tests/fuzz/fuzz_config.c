/*
 * Any bytes as a client's configuration: JSON, TOML or Emacs Lisp. Invariants: after install, the server is
 * there and a second install changes nothing; uninstall restores the original bytes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static const char *const arguments[] = {"--preload", "a \"b\" \\", NULL};
static const struct server_entry entry = {
    .name = "lisp", .command = "/usr/bin/cl-mcp-server", .arguments = arguments};

/* Append the text after install to ${out}. */
static void check_installed(const struct config_editor *editor, const struct config_place *place,
                            const struct config_text *text, const struct splice *made, struct strbuf *out)
{
    struct err err;
    struct config_found found;
    struct splice again;
    splice_apply(made, text, out);
    struct config_text after = {.bytes = strbuf_string(out), .len = out->len};
    require(editor->find(&after, place, entry.name, &found, &err) && found.presence == PRESENCE_OURS);
    splice_init(&again);
    require(editor->install(&after, place, &entry, &again, &err) && splice_is_nothing(&again));
    splice_fini(&again);
}

/* client_config_read() refuses a lone carriage return: it could pair up with the newline that is added. */
static bool has_lone_return(const struct config_text *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->bytes[i] == '\r' && (i + 1 == text->len || text->bytes[i + 1] != '\n'))
            return true;
    return false;
}

static void check(const struct config_editor *editor, const struct config_place *place,
                  const struct config_text *text)
{
    struct err err;
    struct config_found before;
    struct splice made, undone;
    struct strbuf after, restored;
    splice_init(&made);
    splice_init(&undone);
    strbuf_init(&after, 0);
    strbuf_init(&restored, 0);
    bool is_found = editor->find(text, place, entry.name, &before, &err);
    bool is_made = editor->install(text, place, &entry, &made, &err);
    require(is_found || !is_made);
    require(!is_found || is_made || before.presence == PRESENCE_OTHER);
    if (is_made && !has_lone_return(text)) {
        check_installed(editor, place, text, &made, &after);
        struct config_text now = {.bytes = strbuf_string(&after), .len = after.len};
        require(editor->uninstall(&now, place, entry.name, &undone, &err));
        if (!undone.removes_file)
            splice_apply(&undone, &now, &restored);
        require(undone.removes_file == text->is_missing || before.presence == PRESENCE_OURS);
        if (before.presence == PRESENCE_NONE)
            require(restored.len == text->len &&
                    memcmp(strbuf_string(&restored), text->bytes, text->len) == 0);
    }
    splice_fini(&made);
    splice_fini(&undone);
    strbuf_fini(&after);
    strbuf_fini(&restored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const struct config_editor *editor;
        struct config_place place;
    } kinds[] = {
        {&json_editor, {"mcpServers", SHAPE_STDIO}},
        {&json_editor, {"mcp", SHAPE_COMBINED}},
        {&toml_editor, {"mcp_servers", SHAPE_PLAIN}},
        {&elisp_editor, {NULL, SHAPE_PLAIN}},
    };
    /* A copy of exactly that size, so that the sanitizer detects an overrun. */
    char *text = malloc(size > 0 ? size : 1);
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        check(kinds[i].editor, &kinds[i].place, &(struct config_text){.bytes = text, .len = size});
        if (size == 0)
            check(kinds[i].editor, &kinds[i].place, &(struct config_text){.bytes = text, .is_missing = true});
    }
    free(text);
    return 0;
}
