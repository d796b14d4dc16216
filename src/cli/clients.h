/*
 * The MCP clients whose configuration the server knows: one row each.
 */
#ifndef CLI_CLIENTS_H
#define CLI_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

enum client_scope { SCOPE_USER, SCOPE_PROJECT, SCOPE_COUNT };

enum client_format {
    FORMAT_JSON, /* perhaps with comments */
    FORMAT_TOML, /* Codex; its own command lists what is in it */
    FORMAT_ELISP,
};

/* What a client requires of an entry in addition to command and arguments. */
enum entry_shape {
    SHAPE_PLAIN,    /* {"command": C, "args": [A...]} */
    SHAPE_STDIO,    /* the same behind "type": "stdio" */
    SHAPE_CUSTOM,   /* the same behind "source": "custom" */
    SHAPE_COMBINED, /* {"type": "local", "command": [C, A...], "enabled": true} */
};

/* How install and uninstall change the configuration of a scope. */
enum client_way {
    WAY_PASTE,   /* the user does, from what they print */
    WAY_FILE,    /* they write the file, which is plain JSON */
    WAY_COMMAND, /* they run the client's own command */
};

#define CLIENT_MOST_PLACES 4
#define CLIENT_MOST_WORDS 9

struct client {
    const char *name;
    const char *title;
    enum client_format format;
    enum entry_shape shape;
    enum client_way ways[SCOPE_COUNT];

    /* The member or table that holds all servers; NULL in Emacs Lisp. */
    const char *container;

    /*
     * A newer release of the client keeps its servers in this member of the container, and has no "enabled".
     * The entry goes there if the file has the member. NULL: there is one form only.
     */
    const char *newer;

    /*
     * A client that defers the tools of servers, and lets the model only search for them, loads all of them
     * at the start, before the first turn, if this member of the entry is true. NULL: none is known.
     */
    const char *at_once;

    /*
     * The arguments of programs[0] that add the server and remove it; NULL where it has no such command. In
     * them, %name, %scope, %command, %json (the entry) and %named (the entry with its name in it) stand for
     * one argument, %arguments for all of the server's.
     */
    const char *add[CLIENT_MOST_WORDS], *remove[CLIENT_MOST_WORDS];
    bool refuses_to_replace; /* an entry must be removed before another can be added */

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
