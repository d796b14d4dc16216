/*
 * install, uninstall: add the server to the configuration of clients and remove it again: by the client's own
 * command, in a file of plain JSON, or by what a person is shown to paste.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "cli/client_snippet.h"
#include "cli/commands.h"
#include "cli/json_numbers.h"

#define NAME "lisp"
enum { MOST_NAME = 40 };

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
    char self[PATH_MAX] = "";
    size_t self_size = sizeof self;
    uv_exepath(self, &self_size);
    r->own_path = find_program("cl-mcp-server");
    char *real = r->own_path == NULL ? NULL : realpath(r->own_path, NULL);
    r->is_in_path = real != NULL && strcmp(real, self) == 0;
    if (!r->is_in_path) {
        xstrset(&r->own_path, self);
    }
    free(real);
}

/* What a person has to change. */
static void print_advice(const struct request *r, const struct client_config *config, const json_t *entry)
{
    struct strbuf advice = {0};
    if (!r->is_install)
        strbuf_addf(&advice, "Remove the server %s from the file.\n", config->name);
    else
        client_snippet_add(config, entry, &advice);
    for (const char *line = strbuf_string(&advice); *line != '\0';) {
        size_t len = strcspn(line, "\n");
        printf("%s%.*s\n", len > 0 ? "  " : "", (int)len, line);
        line += len + 1;
    }
    strbuf_fini(&advice);
}

/* Replace the words that stand for something in the arguments of a client's command. */
static json_t *fill_in(const char *const *words, const struct client_config *config, const json_t *entry)
{
    json_t *arguments = json_array();
    for (; *words != NULL; words++) {
        if (strcmp(*words, "%name") == 0) {
            json_array_append_new(arguments, json_string(config->name));
        } else if (strcmp(*words, "%scope") == 0) {
            json_array_append_new(arguments, json_string(config->scope == SCOPE_USER ? "user" : "project"));
        } else if (strcmp(*words, "%command") == 0) {
            json_array_append(arguments, json_object_get(entry, "command"));
        } else if (strcmp(*words, "%arguments") == 0) {
            json_array_extend(arguments, json_object_get(entry, "args"));
        } else if (strcmp(*words, "%json") == 0 || strcmp(*words, "%named") == 0) {
            json_t *value = json_object();
            if (strcmp(*words, "%named") == 0)
                json_object_set_new(value, "name", json_string(config->name));
            json_object_update(value, (json_t *)entry);
            char *text = json_numbers_dump(value, JSON_COMPACT);
            json_array_append_new(arguments, json_string(text));
            free(text);
            json_decref(value);
        } else {
            json_array_append_new(arguments, json_string(*words));
        }
    }
    return arguments;
}

/* As a person would type it. */
static void print_command(const char *before, const struct client *client, const json_t *arguments)
{
    size_t i;
    const json_t *argument;
    printf("  %s: %s", before, client->programs[0]);
    json_array_foreach(arguments, i, argument) {
        const char *text = json_string_value(argument);
        bool is_plain = *text != '\0' && text[strcspn(text, " \t\n\"'\\$`*?[]{}()<>|&;#~!")] == '\0';
        printf(is_plain ? " %s" : " '", text);
        for (; !is_plain && *text != '\0'; text++)
            printf(*text == '\'' ? "'\\''" : "%c", *text);
        printf("%s", is_plain ? "" : "'");
    }
    printf("\n");
}

static bool run_command(const struct request *r, const struct client_config *config, const char *const *words,
                        const json_t *entry, struct err *err)
{
    struct strbuf out = {0};
    json_t *arguments = fill_in(words, config, entry);
    print_command(r->is_dry_run ? "would run" : "running", config->client, arguments);
    fflush(stdout);
    bool is_good = r->is_dry_run || client_run(config->client, arguments, &out, err);
    json_decref(arguments);
    strbuf_fini(&out);
    return is_good;
}

/* Some of these commands report success even if they failed. */
static bool check_result(const struct request *r, const struct client_config *before, const json_t *entry,
                         struct err *err)
{
    struct client_config after;
    bool is_read = client_config_read(&after, before->client, before->scope, before->name, err);
    bool is_done =
        is_read && (r->is_install ? after.presence == PRESENCE_OURS : after.presence == PRESENCE_NONE);
    if (is_read && !is_done)
        err_set(err, ERR_INVALID, "%s reported no error, but the server is %s", before->client->programs[0],
                r->is_install ? "not there" : "still there");
    client_config_fini(&after);
    return is_done;
}

static bool change_by_command(const struct request *r, const struct client_config *config,
                              const json_t *entry, struct err *err)
{
    const struct client *client = config->client;
    bool must_remove = !r->is_install || (client->refuses_to_replace && config->presence == PRESENCE_OURS);
    return (!must_remove || run_command(r, config, client->remove, entry, err)) &&
           (!r->is_install || run_command(r, config, client->add, entry, err)) &&
           (r->is_dry_run || check_result(r, config, entry, err));
}

static bool change_file(const struct request *r, struct client_config *config, const json_t *entry,
                        struct err *err)
{
    if (!r->is_dry_run && !client_config_write(config, r->is_install ? entry : NULL, err))
        return false;
    static const char *const verbs[2][2] = {{"removed", "would remove"}, {"wrote", "would write"}};
    char *text = json_numbers_dump(r->is_install ? entry : config->entry, 0);
    printf("  %s \"%s\": %s\n", verbs[r->is_install][r->is_dry_run], config->name, text);
    if (!r->is_dry_run && !config->is_missing)
        printf("  the file as it was: %s%s\n", config->path, CLIENT_CONFIG_BACKUP);
    free(text);
    return true;
}

/* Change what the client reads, or print what to change. */
static bool change_config(const struct request *r, struct client_config *config, const json_t *entry,
                          struct err *err)
{
    const struct client *client = config->client;
    bool has_command = (r->is_install ? client->add[0] : client->remove[0]) != NULL;
    switch (client->ways[config->scope]) {
    case WAY_COMMAND:
        if (has_command)
            return change_by_command(r, config, entry, err);
        printf("  %s has no command that removes a server\n", client->programs[0]);
        break;
    case WAY_FILE:
        if (!config->has_comments)
            return change_file(r, config, entry, err);
        printf("  not changed, since its comments would be lost\n");
        break;
    case WAY_PASTE:
        break;
    }
    print_advice(r, config, entry);
    return true;
}

/* A program of that name, or the same entry. */
static bool is_settled(const struct request *r, const struct client_config *config, const json_t *entry)
{
    if (r->is_install ? client_snippet_is_needed(config, entry) : config->presence != PRESENCE_NONE)
        return false;
    printf("  nothing to do: it %s\n", r->is_install ? "has this server already" : "has no such server");
    return true;
}

static bool change(const struct request *r, const struct client *client)
{
    struct client_config config;
    struct err err;
    bool is_read = client_config_read(&config, client, r->scope, r->name, &err);
    /* A shared file must not contain a path in this user's home. */
    bool is_shared = r->scope == SCOPE_PROJECT && r->is_in_path;
    json_t *entry = client_config_entry(&config, is_shared ? "cl-mcp-server" : r->own_path, r->arguments);
    bool is_good = is_read;
    /* Without the program, what it would have added can be pasted. */
    bool is_known = is_read || (config.shown != NULL && err.code == ERR_NOT_FOUND);
    if (is_known)
        printf("%s: %s\n", client->name, config.shown);
    if (is_read && config.presence == PRESENCE_OTHER)
        is_good = err_set(&err, ERR_INVALID,
                          "there is a server named %s that does not run cl-mcp-server; choose another name "
                          "with --name",
                          r->name);
    else if (is_read && !is_settled(r, &config, entry))
        is_good = change_config(r, &config, entry, &err);
    fflush(stdout);
    if (!is_good)
        fprintf(stderr, "cl-mcp-server: %s%s%s: %s\n", client->name, config.shown != NULL ? ": " : "",
                config.shown != NULL ? config.shown : "", err.message);
    if (!is_good && is_known && config.presence != PRESENCE_OTHER && client->ways[r->scope] == WAY_COMMAND)
        print_advice(r, &config, entry);
    json_decref(entry);
    client_config_fini(&config);
    return is_good;
}

static bool is_name(const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return len > 0 && len <= MOST_NAME && name[len] == '\0';
}

/* Fill in the arguments before `--`; the clients are moved to the beginning of ${argv}. -1: wrong usage. */
static int read_arguments(struct request *r, int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const char *scope = command_option(argv, &i, "--scope");
        const char *name = scope != NULL ? NULL : command_option(argv, &i, "--name");
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
            fprintf(stderr, "cl-mcp-server: unknown argument '%s'%s\n", argv[i],
                    r->is_install ? "; options for the server follow --" : "");
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
    bool is_good = is_text(r->arguments) && utf8_is_valid(r->own_path, strlen(r->own_path));
    if (!is_good) {
        fprintf(stderr, "cl-mcp-server: the new text would not be UTF-8\n");
        count = 0;
    } else if (r->is_all) {
        is_good = change_all(r);
    }
    for (int i = 0; i < count; i++)
        is_good = change(r, clients_find(argv[i])) && is_good;
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
