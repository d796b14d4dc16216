/*
 * The MCP clients whose configuration the server knows: one row each.
 */
#ifndef CLI_CLIENTS_H
#define CLI_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/config_edit.h"

enum client_scope { SCOPE_USER, SCOPE_PROJECT, SCOPE_COUNT };

#define CLIENT_MOST_PLACES 4

struct client {
    const char *name;
    const char *title;
    const struct config_editor *editor;
    struct config_place place;

    /*
     * The files it reads, for each scope: the first one that exists, otherwise the first one listed, which
     * would be created. `~/` is the home directory, `@/` $XDG_CONFIG_HOME or ~/.config; any other path is
     * in the project. Empty: it has no file of that scope.
     */
    const char *files[SCOPE_COUNT][CLIENT_MOST_PLACES];

    /* If set, and none of the user's files exists: the client reads the file ${name_in_folder} of the first
     * of these folders that exists, otherwise of the first one listed. */
    const char *folders[CLIENT_MOST_PLACES], *name_in_folder;

    /* If set, this variable names the directory of the user's file, which has this name there. */
    const char *variable, *name_in_variable;

    /* The client is present if one of these programs is in PATH, or one of these files exists. */
    const char *programs[CLIENT_MOST_PLACES], *signs[CLIENT_MOST_PLACES];
};

/* clients_at(n): the row; NULL after the last. clients_find(name): NULL if there is none. */
const struct client *clients_at(size_t n);
const struct client *clients_find(const char *name);

/* client_is_found(client): whether the user seems to have it. */
bool client_is_found(const struct client *client);

/*
 * client_file(client, scope): the path of its configuration file, whether it exists or not; given. NULL
 * if it has none of that scope, or if there is no home directory.
 */
char *client_file(const struct client *client, enum client_scope scope);

/* find_program(name): the path of an executable file in PATH; given. NULL if there is none. */
char *find_program(const char *name);

#endif
