/*
 * install, uninstall: add the server to the configuration of clients and remove it again. The change is
 * printed before it is made.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "cli/client_config.h"
#include "cli/commands.h"

#define NAME "lisp"
enum { MOST_SHOWN = 4000, MOST_NAME = 40 };

struct request {
    bool is_install, is_dry_run, is_all;
    enum client_scope scope;
    const char *name;
    char **arguments; /* for the server; NULL-terminated. NULL: those that it was installed with */
    char *own_path;   /* the path of this program that a client should start; owned */
    bool is_in_path;  /* its name alone suffices */
};

/* A path found by PATH survives upgrades better than the file it leads to. */
static void find_self(struct request *r)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    r->own_path = find_program("cl-mcp-server");
    char *real = r->own_path == NULL ? NULL : realpath(r->own_path, NULL);
    r->is_in_path = real != NULL && strcmp(real, self) == 0;
    if (!r->is_in_path) {
        free(r->own_path);
        r->own_path = xstrdup(self);
    }
    free(real);
}

static void show_lines(char sign, const char *bytes, size_t len)
{
    bool is_cut = len > MOST_SHOWN;
    struct strbuf text;
    strbuf_init(&text, 0);
    utf8_repair(&text, bytes, is_cut ? utf8_floor(bytes, len, MOST_SHOWN) : len);
    for (const char *line = strbuf_string(&text); *line != '\0';) {
        size_t line_len = strcspn(line, "\n");
        if (line_len > 0 && line[0] != '\r')
            printf("  %c %.*s\n", sign, (int)(line_len - (line[line_len - 1] == '\r')), line);
        line += line_len + (line[line_len] == '\n');
    }
    if (is_cut)
        printf("  %c ...\n", sign);
    strbuf_fini(&text);
}

static void show(const struct client_config *config, const struct splice *splice)
{
    struct config_text text = client_config_text(config);
    show_lines('-', text.bytes + splice->at, splice->removed);
    show_lines('+', strbuf_string(&splice->text), splice->text.len);
}

static const char *outcome_of(const struct request *r, const struct client_config *config,
                              const struct splice *splice)
{
    if (splice_is_nothing(splice))
        return r->is_install ? "nothing to do: the file has this server already"
                             : "nothing to do: the file has no such server";
    if (splice->removes_file)
        return r->is_dry_run ? "the file would be removed" : "the file was removed";
    if (config->is_missing)
        return r->is_dry_run ? "the file would be created" : "the file was created";
    return r->is_dry_run ? "the file would be changed" : "the file was changed";
}

static bool edit(const struct request *r, const struct client_config *config, struct splice *splice,
                 struct err *err)
{
    struct config_text text = client_config_text(config);
    const struct client *client = config->client;
    /* A shared file must not contain a path in this user's home. */
    bool is_shared = config->scope == SCOPE_PROJECT && r->is_in_path;
    struct server_entry entry = {.name = r->name,
                                 .command = is_shared ? "cl-mcp-server" : r->own_path,
                                 .arguments = (const char *const *)r->arguments};
    return r->is_install ? client->editor->install(&text, &client->place, &entry, splice, err)
                         : client->editor->uninstall(&text, &client->place, r->name, splice, err);
}

static bool change(const struct request *r, const struct client *client)
{
    struct client_config config;
    struct splice splice;
    struct err err;
    splice_init(&splice);
    bool is_read = client_config_read(&config, client, r->scope, &err);
    bool is_edited = is_read && edit(r, &config, &splice, &err);
    bool is_good = is_edited;
    if (is_edited) {
        printf("%s: %s\n", client->name, config.shown);
        show(&config, &splice);
        fflush(stdout);
        if (!r->is_dry_run && !splice_is_nothing(&splice))
            is_good = client_config_write(&config, &splice, &err);
    }
    if (is_good)
        printf("  %s\n", outcome_of(r, &config, &splice));
    else if (is_read)
        fprintf(stderr, "cl-mcp-server: %s: %s was not changed: %s\n", client->name, config.shown,
                err.message);
    else
        fprintf(stderr, "cl-mcp-server: %s: %s\n", client->name, err.message);
    splice_fini(&splice);
    client_config_fini(&config);
    return is_good;
}

static bool is_name(const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return len > 0 && len <= MOST_NAME && name[len] == '\0';
}

/* An option with its value, "--scope user" or "--scope=user"; NULL for another option, or without a value. */
static const char *value_of(char **argv, int *i, const char *option)
{
    size_t len = strlen(option);
    if (strncmp(argv[*i], option, len) != 0)
        return NULL;
    if (argv[*i][len] == '=')
        return argv[*i] + len + 1;
    return argv[*i][len] == '\0' && argv[*i + 1] != NULL ? argv[++*i] : NULL;
}

/* Fill in the arguments before `--`; the clients are moved to the beginning of ${argv}. -1: wrong usage. */
static int read_arguments(struct request *r, int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const char *scope = value_of(argv, &i, "--scope");
        const char *name = scope != NULL ? NULL : value_of(argv, &i, "--name");
        if (strcmp(argv[i], "--") == 0 && scope == NULL && name == NULL && r->is_install) {
            r->arguments = argv + i + 1;
            break;
        } else if (scope != NULL && (strcmp(scope, "user") == 0 || strcmp(scope, "project") == 0)) {
            r->scope = scope[0] == 'u' ? SCOPE_USER : SCOPE_PROJECT;
        } else if (name != NULL && is_name(name)) {
            r->name = name;
        } else if (strcmp(argv[i], "--dry-run") == 0) {
            r->is_dry_run = true;
        } else if (strcmp(argv[i], "all") == 0) {
            r->is_all = true;
        } else if (scope == NULL && name == NULL && argv[i][0] != '-') {
            argv[count++] = argv[i];
        } else {
            fprintf(stderr, "cl-mcp-server: unknown argument '%s'\n", argv[i]);
            return -1;
        }
    }
    return count > 0 || r->is_all ? count : -1;
}

static bool is_text(char **arguments)
{
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        if (!utf8_is_valid(arguments[i], strlen(arguments[i])))
            return false;
    return true;
}

static bool are_known(char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (clients_find(names[i]) == NULL) {
            fprintf(stderr, "cl-mcp-server: unknown client '%s'; the clients are", names[i]);
            for (size_t n = 0; clients_at(n) != NULL; n++)
                fprintf(stderr, " %s", clients_at(n)->name);
            fprintf(stderr, " and all\n");
            return false;
        }
    return true;
}

/* Every client that this user has, and that has a file of that scope. */
static bool change_all(const struct request *r)
{
    bool is_good = true, is_any = false;
    for (size_t n = 0; clients_at(n) != NULL; n++) {
        const struct client *client = clients_at(n);
        if (client->files[r->scope][0] == NULL || !client_is_found(client))
            continue;
        is_any = true;
        is_good = change(r, client) && is_good;
    }
    if (!is_any)
        fprintf(stderr, "cl-mcp-server: no client found\n");
    return is_good && is_any;
}

static int run(struct request *r, int argc, char **argv)
{
    const char *command = argv[0];
    int count = read_arguments(r, argc, argv);
    if (count < 0 || !are_known(argv, count))
        return command_usage(command);
    find_self(r);
    bool is_good = true;
    if (!is_text(r->arguments) || !utf8_is_valid(r->own_path, strlen(r->own_path))) {
        fprintf(stderr, "cl-mcp-server: the new text would not be UTF-8\n");
        is_good = false;
    }
    for (int i = 0; is_good && i < count; i++)
        is_good = change(r, clients_find(argv[i])) && is_good;
    if (is_good && r->is_all)
        is_good = change_all(r);
    free(r->own_path);
    return is_good ? 0 : 1;
}

int install(int argc, char **argv)
{
    return run(&(struct request){.is_install = true, .name = NAME}, argc, argv);
}

int uninstall(int argc, char **argv)
{
    return run(&(struct request){.name = NAME}, argc, argv);
}
