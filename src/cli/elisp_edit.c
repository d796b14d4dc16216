/*
 * Responsible for the server's form in an Emacs init file, between two marker comments. The rest of the
 * file is Lisp that only Emacs can interpret.
 */
#include <stdio.h>
#include <string.h>

#include "cli/config_edit.h"

#define MOST_MARK 128

struct block {
    bool is_there;
    size_t from, to; /* whole lines */
};

static void make_mark(char *out, const char *name, const char *which)
{
    snprintf(out, MOST_MARK, ";; cl-mcp-server, server %.48s: %s", name, which);
}

/* Find the line ${mark} at or after ${*at}, which becomes its start; ${*end} is after it. */
static bool find_line(const struct config_text *text, const char *mark, size_t *at, size_t *end)
{
    size_t len = strlen(mark);
    while (*at < text->len) {
        const char *line = text->bytes + *at;
        const char *newline = memchr(line, '\n', text->len - *at);
        size_t whole = newline == NULL ? text->len - *at : (size_t)(newline - line);
        size_t shown = whole > 0 && line[whole - 1] == '\r' ? whole - 1 : whole;
        *end = *at + whole + (newline != NULL);
        if (shown == len && memcmp(line, mark, len) == 0)
            return true;
        *at = *end;
    }
    return false;
}

static bool find_block(const struct config_text *text, const char *name, struct block *out, struct err *err)
{
    char begin[MOST_MARK], end[MOST_MARK];
    make_mark(begin, name, "begin");
    make_mark(end, name, "end");
    *out = (struct block){.is_there = false};
    size_t behind;
    if (!find_line(text, begin, &out->from, &behind))
        return true;
    size_t at = behind;
    if (!find_line(text, end, &at, &out->to))
        return err_set(err, ERR_SYNTAX, "the line \"%s\" is there, but not \"%s\" after it", begin, end);
    out->is_there = true;
    return true;
}

static void add_string(struct strbuf *out, const char *text)
{
    strbuf_addc(out, '"');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *c);
    }
    strbuf_addc(out, '"');
}

/* The list of arguments in a block as it was written, parentheses included; false if it was changed by
 * hand. */
static bool find_arguments(const struct config_text *text, const struct block *block, const char **list,
                           size_t *len)
{
    static const char key[] = " :args (", end[] = "))))";
    const char *from = memmem(text->bytes + block->from, block->to - block->from, key, sizeof key - 1);
    if (from == NULL)
        return false;
    *list = from + sizeof key - 2;
    /* The last such line: an argument may have several. */
    *len = 0;
    const char *line = *list, *stop = text->bytes + block->to;
    while ((line = memchr(line, '\n', (size_t)(stop - line))) != NULL) {
        const char *last = line - (line[-1] == '\r') - (sizeof end - 1);
        if (last > *list && memcmp(last, end, sizeof end - 1) == 0)
            *len = (size_t)(last + 1 - *list);
        line++;
    }
    return *len > 0;
}

static void add_arguments(const struct config_text *text, const struct block *block,
                          const struct server_entry *entry, struct strbuf *out)
{
    const char *list;
    size_t len;
    if (entry->arguments == NULL && block->is_there && find_arguments(text, block, &list, &len)) {
        strbuf_add(out, list, len);
        return;
    }
    strbuf_addc(out, '(');
    for (size_t i = 0; entry->arguments != NULL && entry->arguments[i] != NULL; i++) {
        strbuf_adds(out, i == 0 ? "" : " ");
        add_string(out, entry->arguments[i]);
    }
    strbuf_addc(out, ')');
}

static void make_block(const struct config_text *text, const struct block *block,
                       const struct server_entry *entry, struct strbuf *out)
{
    const char *newline = config_newline(text);
    char mark[MOST_MARK];
    make_mark(mark, entry->name, "begin");
    strbuf_addf(out, "%s%s(with-eval-after-load 'mcp-hub%s", mark, newline, newline);
    strbuf_addf(out, "  (add-to-list 'mcp-hub-servers%s               '(\"%s\" :command ", newline,
                entry->name);
    add_string(out, entry->command);
    strbuf_adds(out, " :args ");
    add_arguments(text, block, entry, out);
    make_mark(mark, entry->name, "end");
    strbuf_addf(out, ")))%s%s%s", newline, mark, newline);
}

static bool elisp_find(const struct config_text *text, const struct config_place *place, const char *name,
                       struct config_found *out, struct err *err)
{
    struct block block;
    *out = (struct config_found){.presence = PRESENCE_NONE};
    if (!find_block(text, name, &block, err))
        return false;
    if (!block.is_there)
        return true;
    out->presence = PRESENCE_OURS;
    static const char key[] = ":command \"";
    const char *value = memmem(text->bytes + block.from, block.to - block.from, key, sizeof key - 1);
    value = value == NULL ? NULL : value + sizeof key - 1;
    const char *end = value == NULL ? NULL : memchr(value, '"', (size_t)(text->bytes + block.to - value));
    if (end != NULL && (size_t)(end - value) < sizeof out->command)
        memcpy(out->command, value, (size_t)(end - value));
    return true;
}

static bool elisp_install(const struct config_text *text, const struct config_place *place,
                          const struct server_entry *entry, struct splice *out, struct err *err)
{
    struct block block;
    if (!find_block(text, entry->name, &block, err))
        return false;
    struct strbuf wanted;
    strbuf_init(&wanted, 0);
    make_block(text, &block, entry, &wanted);
    size_t len = block.to - block.from;
    /* At the end of a file without a final newline, the block has none either. */
    if (block.is_there && text->bytes[block.to - 1] != '\n')
        wanted.len -= strlen(config_newline(text));
    if (!block.is_there) {
        config_append(text, &wanted, out);
    } else if (wanted.len != len || memcmp(wanted.bytes, text->bytes + block.from, len) != 0) {
        out->at = block.from;
        out->removed = len;
        strbuf_add(&out->text, wanted.bytes, wanted.len);
    }
    strbuf_fini(&wanted);
    return true;
}

static bool elisp_uninstall(const struct config_text *text, const struct config_place *place,
                            const char *name, struct splice *out, struct err *err)
{
    struct block block;
    if (!find_block(text, name, &block, err))
        return false;
    if (block.is_there)
        config_cut(text, block.from, block.to, out);
    return true;
}

const struct config_editor elisp_editor = {
    .find = elisp_find,
    .install = elisp_install,
    .uninstall = elisp_uninstall,
};
