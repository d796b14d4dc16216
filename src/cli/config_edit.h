/*
 * The editors of the clients' configuration files, one per format. Each finds the server's entry in a
 * text, and computes the one change that adds or removes it. Removing undoes adding, byte for byte. The
 * editors do not touch files.
 */
#ifndef CLI_CONFIG_EDIT_H
#define CLI_CONFIG_EDIT_H

#include <limits.h>

#include "base/errors.h"
#include "cli/server_entry.h"

/* What a client requires of an entry in addition to command and arguments. */
enum entry_shape {
    SHAPE_PLAIN,    /* {"command": C, "args": [A...]} */
    SHAPE_STDIO,    /* the same behind "type": "stdio" */
    SHAPE_CUSTOM,   /* the same behind "source": "custom" */
    SHAPE_COMBINED, /* {"type": "local", "command": [C, A...], "enabled": true} */
};

struct config_place {
    const char *container; /* the member or table that holds all servers; NULL if the format has none */
    enum entry_shape shape;

    /*
     * A newer release of the client keeps its servers in this member of the container, and has no "enabled".
     * The entry goes there if the file has the member. NULL: there is one form only.
     */
    const char *newer;
};

struct config_found {
    enum presence presence;
    char command[PATH_MAX]; /* what the entry runs; "" if unknown */
};

struct config_editor {
    /*
     * find(text, place, name, out, err):
     * Look for the server ${name}.
     *
     * Errors      ERR_SYNTAX, ERR_TOO_DEEP, ERR_INVALID: the file is broken, or has something else in that
     *             place
     */
    bool (*find)(const struct config_text *text, const struct config_place *place, const char *name,
                 struct config_found *out, struct err *err);

    /*
     * install(text, place, entry, out, err), uninstall(text, place, name, out, err):
     * Compute the change; none if nothing needs to change. A server of that name that runs another program
     * is not touched.
     *
     * out         made by splice_init()
     * Errors      those of find()
     */
    bool (*install)(const struct config_text *text, const struct config_place *place,
                    const struct server_entry *entry, struct splice *out, struct err *err);
    bool (*uninstall)(const struct config_text *text, const struct config_place *place, const char *name,
                      struct splice *out, struct err *err);
};

extern const struct config_editor json_editor, toml_editor, elisp_editor;

#endif
