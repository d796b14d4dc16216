/*
 * Responsible for the files of clients on disk. They may be symbolic links into a user's own collection of
 * such files: the link's target is changed, and the link stays.
 */
#include "cli/client_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* Claude Code keeps all projects in one file. */
enum { MOST_BYTES = 64 << 20 };

/* The editors would take a carriage return that ends no line for part of the newline that they add. */
static bool check_returns(const struct strbuf *text, struct err *err)
{
    size_t line = 1;
    for (size_t i = 0; i < text->len; i++) {
        line += text->bytes[i] == '\n';
        if (text->bytes[i] == '\r' && (i + 1 == text->len || text->bytes[i + 1] != '\n'))
            return err_set(
                err, ERR_INVALID,
                "line %zu contains a carriage return without a newline; convert the file's line ends", line);
    }
    return true;
}

bool client_config_read(struct client_config *config, const struct client *client, enum client_scope scope,
                        struct err *err)
{
    *config = (struct client_config){.client = client, .scope = scope};
    config->file.directory = -1;
    config->shown = client_file(client, scope);
    if (config->shown == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       client->files[scope][0] == NULL ? "%s has no configuration of a project"
                                                       : "HOME is not set, so the file of %s is unknown",
                       client->title);
    config->path = realpath(config->shown, NULL);
    if (config->path != NULL)
        return regular_file_read(&config->file, config->path, MOST_BYTES, err) &&
               check_returns(&config->file.text, err);
    struct stat s;
    if (lstat(config->shown, &s) == 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "%s is a symbolic link that leads nowhere",
                             config->shown);
    if (errno != ENOENT)
        return err_set_errno(err, ERR_SYSTEM, errno, "%s", config->shown);
    config->is_missing = true;
    config->path = xstrdup(config->shown);
    return true;
}

void client_config_fini(struct client_config *config)
{
    if (config->file.path != NULL)
        regular_file_fini(&config->file);
    free(config->shown);
    free(config->path);
}

struct config_text client_config_text(const struct client_config *config)
{
    return (struct config_text){
        .bytes = config->is_missing ? "" : strbuf_string(&config->file.text),
        .len = config->is_missing ? 0 : config->file.text.len,
        .is_missing = config->is_missing,
    };
}

static bool make_directories(const char *path, mode_t mode, struct err *err)
{
    char *directory = xstrdup(path);
    bool is_made = true;
    for (char *c = directory + 1; is_made && *c != '\0'; c++)
        if (*c == '/') {
            *c = '\0';
            is_made = mkdir(directory, mode) == 0 || errno == EEXIST ||
                      err_set_errno(err, ERR_SYSTEM, errno, "%s", directory);
            *c = '/';
        }
    free(directory);
    return is_made;
}

bool client_config_write(const struct client_config *config, const struct splice *splice, struct err *err)
{
    if (splice->removes_file)
        return unlink(config->path) == 0 || err_set_errno(err, ERR_SYSTEM, errno, "%s", config->path);
    struct config_text text = client_config_text(config);
    struct strbuf after;
    strbuf_init(&after, 0);
    splice_apply(splice, &text, &after);
    bool is_users = config->scope == SCOPE_USER;
    bool is_written = config->is_missing
                          ? make_directories(config->path, is_users ? 0700 : 0777, err) &&
                                regular_file_create(config->path, is_users ? 0600 : 0666,
                                                    strbuf_string(&after), after.len, err)
                          : regular_file_replace(&config->file, strbuf_string(&after), after.len, err);
    strbuf_fini(&after);
    return is_written;
}
