/*
 * The configuration file of one client: reads, examines and changes it.
 */
#ifndef CLI_CLIENT_CONFIG_H
#define CLI_CLIENT_CONFIG_H

#include "base/regular_file.h"
#include "cli/clients.h"

struct client_config {
    const struct client *client;
    enum client_scope scope;
    char *shown; /* the path as the client knows it; owned */
    char *path;  /* the file itself, with symbolic links resolved; owned */
    struct regular_file file;
    bool is_missing;
};

/*
 * client_config_read(config, client, scope, err):
 * Read the file if it exists.
 *
 * config      filled in; needs client_config_fini(), also after a failure
 * Errors      ERR_NOT_FOUND: the client has no file of that scope, or there is no home directory;
 *             ERR_INVALID, ERR_TOO_LARGE, ERR_SYSTEM: the path is not a readable regular file, or the file
 *             contains carriage returns that end no line
 */
bool client_config_read(struct client_config *config, const struct client *client, enum client_scope scope,
                        struct err *err);
void client_config_fini(struct client_config *config);

/* client_config_text(config): what was read; borrowed. */
struct config_text client_config_text(const struct client_config *config);

/*
 * client_config_write(config, splice, err):
 * Change, create or remove the file. The new text is complete before it replaces the old one.
 */
bool client_config_write(const struct client_config *config, const struct splice *splice, struct err *err);

#endif
