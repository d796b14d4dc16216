/*
 * The server's entry in a client's configuration, and the configuration as a text that is edited in place.
 * Shared by all formats of configuration files.
 */
#ifndef CLI_SERVER_ENTRY_H
#define CLI_SERVER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/* What is written into a configuration; borrowed. */
struct server_entry {
    const char *name;    /* the client's name for the server: letters, digits, - and _ */
    const char *command; /* UTF-8 */
    /* UTF-8; NULL-terminated. NULL: keep those of the entry; none for a new one. */
    const char *const *arguments;
};

/* A configuration file as it is now; borrowed. */
struct config_text {
    const char *bytes;
    size_t len;
    bool is_missing; /* there is no file; len is 0 */
};

/* The entry under the name of the server. */
enum presence { PRESENCE_NONE, PRESENCE_OURS, PRESENCE_OTHER };

/* The one change that an edit makes: ${text} replaces ${removed} bytes at ${at}. */
struct splice {
    size_t at, removed;
    struct strbuf text;
    bool removes_file; /* nothing remains of a file that did not exist before the server was installed */
};

/* splice_init(splice), splice_fini(splice): on the caller's memory. */
void splice_init(struct splice *splice);
void splice_fini(struct splice *splice);

/* splice_is_nothing(splice): whether it changes nothing. */
bool splice_is_nothing(const struct splice *splice);

/* splice_apply(splice, text, out): append the changed text to ${out}. */
void splice_apply(const struct splice *splice, const struct config_text *text, struct strbuf *out);

/* is_our_command(command): whether it runs cl-mcp-server, at any path. ${command} may be NULL. */
bool is_our_command(const char *command);

/* config_is_others(name, err): sets ${err} for an entry of that name that runs another program; false. */
bool config_is_others(const char *name, struct err *err);

/* config_newline(text): the end of a line in it: "\r\n" if its first line ends so, otherwise "\n". */
const char *config_newline(const struct config_text *text);

/*
 * config_append(text, block, out), config_cut(text, from, to, out):
 * Append whole lines to the text, after an empty line; remove lines. The second undoes the first byte for
 * byte: a text without a final newline gets a block without one.
 *
 * block       borrowed; lines, the last one with its end
 * from, to    offsets where lines begin; ${to} may be the end of the text
 * out         receives the change
 */
void config_append(const struct config_text *text, const struct strbuf *block, struct splice *out);
void config_cut(const struct config_text *text, size_t from, size_t to, struct splice *out);

#endif
