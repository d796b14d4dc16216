/*
 * The server's entry in what one client reads: finds it, words it, and writes it into a file of plain JSON.
 */
#ifndef CLI_CLIENT_CONFIG_H
#define CLI_CLIENT_CONFIG_H

#include <jansson.h>
#include <limits.h>

#include "base/regular_file.h"
#include "cli/clients.h"

/* The entry under the name of the server. */
enum presence {
    PRESENCE_NONE,
    PRESENCE_OURS,
    PRESENCE_OTHER,   /* it runs another program */
    PRESENCE_UNKNOWN, /* Codex reads a project's file only once the user trusts the project */
};

struct client_config {
    const struct client *client;
    enum client_scope scope;
    const char *name; /* the client's name for the server: letters, digits, - and _; borrowed */
    char *shown;      /* the path of the file as the client knows it; owned */
    char *path;       /* the file itself, with symbolic links resolved; owned */
    struct regular_file file;
    bool is_missing;
    bool is_blank;     /* a JSON file without a value */
    bool has_comments; /* or trailing commas: writing the file as JSON would drop them */
    json_t *root;      /* of a JSON file, from json_numbers_load(); owned */
    enum presence presence;
    json_t *entry;          /* what the client has under the name; owned. NULL: nothing, or Emacs Lisp */
    char command[PATH_MAX]; /* what the entry runs; "" if unknown */
};

/*
 * client_config_read(config, client, scope, name, err):
 * Find the server ${name}: in the client's file if it exists, or in what Codex lists.
 *
 * config      filled in; needs client_config_fini(), also after a failure
 * name        borrowed as long as ${config} is used
 * Errors      ERR_NOT_FOUND: the client has no file of that scope, there is no home directory, or Codex is
 *             not in PATH; ERR_SYNTAX, ERR_INVALID, ERR_TOO_LARGE, ERR_SYSTEM: the file cannot be read, or
 * has something else in that place; those of client_run()
 */
bool client_config_read(struct client_config *config, const struct client *client, enum client_scope scope,
                        const char *name, struct err *err);
void client_config_fini(struct client_config *config);

/*
 * client_config_entry(config, command, arguments): the entry that runs ${command}, given. What else the
 * present entry has stays, and so do its arguments if ${arguments} is NULL.
 */
json_t *client_config_entry(const struct client_config *config, const char *command, char **arguments);

/* client_config_servers(config): the member of a JSON file that holds all servers; borrowed, may be NULL.
 * client_config_newer(config): the same if it is in the form of a newer release, otherwise NULL. */
json_t *client_config_servers(const struct client_config *config);
json_t *client_config_newer(const struct client_config *config);

/*
 * client_config_write(config, entry, err):
 * Set the entry in the JSON file, or remove it if ${entry} is NULL. The new text is complete before it
 * replaces the old one, which is kept beside it.
 */
bool client_config_write(struct client_config *config, const json_t *entry, struct err *err);

#define CLIENT_CONFIG_BACKUP ".cl-mcp-server.bak"

/*
 * client_run(client, arguments, out, err):
 * Run the client's own command with its time limited.
 *
 * arguments   borrowed; JSON strings
 * out         receives what it printed
 * Errors      ERR_NOT_FOUND: no such program in PATH; ERR_START, ERR_LIMIT, ERR_SYSTEM; ERR_INVALID: it
 * failed
 */
bool client_run(const struct client *client, const json_t *arguments, struct strbuf *out, struct err *err);

#endif
