/*
 * Responsible for what the editors of configuration files share: the change as a value, and blocks of lines
 * at the end of a file.
 */
#include "cli/server_entry.h"

#include <string.h>

void splice_init(struct splice *splice)
{
    *splice = (struct splice){.at = 0};
    strbuf_init(&splice->text, 0);
}

void splice_fini(struct splice *splice)
{
    strbuf_fini(&splice->text);
}

bool splice_is_nothing(const struct splice *splice)
{
    return splice->removed == 0 && splice->text.len == 0 && !splice->removes_file;
}

void splice_apply(const struct splice *splice, const struct config_text *text, struct strbuf *out)
{
    size_t behind = splice->at + splice->removed;
    strbuf_add(out, text->bytes, splice->at);
    strbuf_add(out, strbuf_string(&splice->text), splice->text.len);
    strbuf_add(out, text->bytes + behind, text->len - behind);
}

bool is_our_command(const char *command)
{
    if (command == NULL)
        return false;
    const char *slash = strrchr(command, '/');
    return strcmp(slash == NULL ? command : slash + 1, "cl-mcp-server") == 0;
}

const char *config_newline(const struct config_text *text)
{
    const char *newline = text->len == 0 ? NULL : memchr(text->bytes, '\n', text->len);
    return newline != NULL && newline > text->bytes && newline[-1] == '\r' ? "\r\n" : "\n";
}

static bool ends_with_newline(const char *bytes, size_t len)
{
    return len > 0 && bytes[len - 1] == '\n';
}

/* The length of the line end before ${at}; 0 if no line ends there. */
static size_t newline_before(const char *bytes, size_t at)
{
    if (!ends_with_newline(bytes, at))
        return 0;
    return at > 1 && bytes[at - 2] == '\r' ? 2 : 1;
}

void config_append(const struct config_text *text, const struct strbuf *block, struct splice *out)
{
    const char *newline = config_newline(text);
    bool has_end = text->is_missing || ends_with_newline(text->bytes, text->len);
    out->at = text->len;
    if (text->len > 0)
        strbuf_addf(&out->text, "%s%s", has_end ? "" : newline, newline);
    size_t end = has_end ? 0 : newline_before(strbuf_string(block), block->len);
    strbuf_add(&out->text, strbuf_string(block), block->len - end);
}

void config_cut(const struct config_text *text, size_t from, size_t to, struct splice *out)
{
    bool has_end = ends_with_newline(text->bytes, to);
    size_t before = newline_before(text->bytes, from);
    if (!has_end)
        from -= before; /* nothing follows it */
    size_t empty = newline_before(text->bytes, from);
    /* An empty line, or the end of a line that had none before the block was appended. */
    if (!has_end || newline_before(text->bytes, from - empty) > 0 || from == empty)
        from -= empty;
    out->at = from;
    out->removed = to - from;
    out->removes_file = from == 0 && to == text->len && has_end;
}

bool config_is_others(const char *name, struct err *err)
{
    return err_set(
        err, ERR_INVALID,
        "there is a server named %s that does not run cl-mcp-server; choose another name with --name", name);
}
