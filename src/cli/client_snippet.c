/*
 * Responsible for the server's entry as text in JSON, TOML and Emacs Lisp.
 */
#include "cli/client_snippet.h"

#include <stdlib.h>
#include <string.h>

#include "cli/json_numbers.h"

static void add_lisp_string(struct strbuf *out, const char *text)
{
    strbuf_addc(out, '"');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *c);
    }
    strbuf_addc(out, '"');
}

/* The element of mcp-hub-servers. */
static void add_form(const struct client_config *config, const json_t *entry, struct strbuf *out)
{
    size_t i;
    const json_t *argument;
    strbuf_addf(out, "(\"%s\" :command ", config->name);
    add_lisp_string(out, json_string_value(json_object_get(entry, "command")));
    strbuf_adds(out, " :args (");
    json_array_foreach(json_object_get(entry, "args"), i, argument) {
        strbuf_adds(out, i == 0 ? "" : " ");
        add_lisp_string(out, json_string_value(argument));
    }
    strbuf_adds(out, "))");
}

bool client_snippet_is_needed(const struct client_config *config, const json_t *entry)
{
    if (config->presence != PRESENCE_OURS || config->client->format != FORMAT_ELISP)
        return config->presence != PRESENCE_OURS || !json_equal(config->entry, entry);
    struct strbuf form = {0};
    add_form(config, entry, &form);
    bool is_there = strstr(strbuf_string(&config->file.text), strbuf_string(&form)) != NULL;
    strbuf_fini(&form);
    return !is_there;
}

static void add_dumped(struct strbuf *out, const json_t *value, size_t flags)
{
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | flags);
    strbuf_adds(out, dumped);
    free(dumped);
}

/* A whole file, or the members that an existing file lacks. */
static void add_json(const struct client_config *config, const json_t *entry, struct strbuf *out)
{
    const struct client *client = config->client;
    bool has_servers = client_config_servers(config) != NULL;
    json_t *value = json_pack("{sO}", config->name, entry);
    if (!has_servers)
        value = json_pack("{so}", client->container, value);
    char *text = json_numbers_dump(value, JSON_INDENT(2));
    size_t len = strlen(text);
    if (config->is_blank) {
        strbuf_addf(out, "Paste this into the file:\n\n%s\n", text);
    } else {
        strbuf_adds(out, "Paste this member into the object ");
        if (has_servers)
            strbuf_addf(out, "\"%s\" of the file",
                        client_config_newer(config) != NULL ? client->newer : client->container);
        else
            strbuf_adds(out, "in the file");
        /* Without its braces, each with an end of a line. */
        strbuf_addf(out, ":\n\n%.*s\n", (int)(len - 4), text + 2);
    }
    free(text);
    json_decref(value);
}

void client_snippet_add(const struct client_config *config, const json_t *entry, struct strbuf *out)
{
    switch (config->client->format) {
    case FORMAT_JSON:
        add_json(config, entry, out);
        break;
    case FORMAT_TOML: /* its basic strings are JSON's, except that DEL must be escaped */
        strbuf_addf(out, "Paste this table into the file:\n\n[%s.%s]\ncommand = ", config->client->container,
                    config->name);
        add_dumped(out, json_object_get(entry, "command"), 0);
        strbuf_adds(out, "\nargs = ");
        add_dumped(out, json_object_get(entry, "args"), 0);
        strbuf_adds(out, "\n");
        break;
    case FORMAT_ELISP:
        strbuf_adds(out, "Paste this form into the file:\n\n(with-eval-after-load 'mcp-hub\n"
                         "  (add-to-list 'mcp-hub-servers\n               '");
        add_form(config, entry, out);
        strbuf_adds(out, "))\n");
        break;
    }
}
