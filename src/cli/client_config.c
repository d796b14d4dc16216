/*
 * Responsible for the server's entry in the clients' configurations. Their files may be symbolic links into a
 * user's own collection of such files: the link's target is changed, and the link stays.
 */
#include "cli/client_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/user_directory.h"
#include "cli/json_numbers.h"
#include "cli/run_program.h"

/* Claude Code keeps all projects in one file. */
enum { MOST_BYTES = 64 << 20 };

/* Gemini CLI takes two seconds on a quiet machine. */
enum { RUN_LIMIT_MS = 30000, MOST_QUOTED = 300 };

static bool read_file(struct client_config *config, struct err *err)
{
    config->shown = client_file(config->client, config->scope);
    if (config->shown == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       config->client->files[config->scope][0] == NULL
                           ? "%s has no configuration of a project"
                           : "HOME is not set, so the file of %s is unknown",
                       config->client->title);
    config->path = realpath(config->shown, NULL);
    if (config->path != NULL)
        return regular_file_read(&config->file, config->path, MOST_BYTES, err);
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

/* Put blanks in place of a byte order mark, comments and trailing commas. Whether there were any of the last
 * two. */
static bool blank_comments(char *text, size_t len)
{
    bool is_changed = false, is_string = false;
    char *comma = NULL; /* only blanks follow it so far */
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        memset(text, ' ', 3);
    for (char *c = text; c < text + len; c++) {
        if (is_string) {
            is_string = *c != '"';
            c += *c == '\\';
            continue;
        }
        char *end = NULL;
        if (c[0] == '/' && c[1] == '/')
            end = c + strcspn(c, "\n");
        else if (c[0] == '/' && c[1] == '*' && (end = strstr(c + 2, "*/")) != NULL)
            end += 2;
        if (end != NULL) {
            is_changed = true;
            for (; c < end; c++)
                *c = *c == '\n' ? '\n' : ' ';
            c--;
            continue;
        }
        if ((*c == ']' || *c == '}') && comma != NULL) {
            *comma = ' ';
            is_changed = true;
        }
        is_string = *c == '"';
        if (*c != '\0' && strchr(" \t\r\n", *c) == NULL)
            comma = *c == ',' ? c : NULL;
    }
    return is_changed;
}

/* In the older form, a server may be called what client.newer says. */
static bool is_server(const json_t *value)
{
    return json_is_string(json_object_get(value, "type")) ||
           json_is_boolean(json_object_get(value, "enabled"));
}

json_t *client_config_newer(const struct client_config *config)
{
    const struct client *client = config->client;
    json_t *newer = client->newer == NULL
                        ? NULL
                        : json_object_get(json_object_get(config->root, client->container), client->newer);
    return json_is_object(newer) && !is_server(newer) ? newer : NULL;
}

json_t *client_config_servers(const struct client_config *config)
{
    json_t *newer = client_config_newer(config);
    return newer != NULL ? newer : json_object_get(config->root, config->client->container);
}

static bool read_json(struct client_config *config, struct err *err)
{
    size_t len = config->is_missing ? 0 : config->file.text.len;
    char *text = xmemdup0(strbuf_string(&config->file.text), len);
    json_error_t error;
    config->has_comments = blank_comments(text, len);
    config->is_blank = strspn(text, " \t\r\n") == len;
    config->root =
        config->is_blank ? json_object() : json_numbers_load(text, len, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (config->root == NULL)
        return err_set(err, ERR_SYNTAX, "line %d, column %d: %s", error.line, error.column, error.text);
    const json_t *servers = client_config_servers(config);
    if (!json_is_object(config->root) || (servers != NULL && !json_is_object(servers)))
        return err_set(err, ERR_INVALID, "\"%s\" is not an object", config->client->container);
    config->entry = json_incref(json_object_get(servers, config->name));
    return true;
}

bool client_run(const struct client *client, const json_t *arguments, struct strbuf *out, struct err *err)
{
    char *program = find_program(client->programs[0]);
    if (program == NULL)
        return err_set(err, ERR_NOT_FOUND, "%s is not in PATH", client->programs[0]);
    size_t count = json_array_size(arguments);
    const char **argv = xcalloc(count + 2, sizeof *argv);
    argv[0] = program;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = json_string_value(json_array_get(arguments, i));
    struct program_result result;
    bool is_run = run_program(argv, "", RUN_LIMIT_MS, &result, err);
    bool is_good = is_run && result.status == 0;
    if (!is_run) {
        struct err reason = *err;
        err_set(err, reason.code, "%s: %s", client->programs[0], reason.message);
    } else if (!is_good) {
        const struct strbuf *said = result.errors.len > 0 ? &result.errors : &result.output;
        err_set(err, ERR_INVALID, "%s failed: %.*s", client->programs[0], MOST_QUOTED, strbuf_string(said));
    }
    strbuf_add(out, strbuf_string(&result.output), result.output.len);
    program_result_fini(&result);
    free(argv);
    free(program);
    return is_good;
}

/* Codex reads TOML, so that nothing here has to. */
static bool ask_codex(struct client_config *config, struct err *err)
{
    struct strbuf out = {0};
    json_t *arguments = json_pack("[sss]", "mcp", "list", "--json");
    bool is_good = client_run(config->client, arguments, &out, err);
    json_t *servers = is_good ? json_loadb(strbuf_string(&out), out.len, 0, NULL) : NULL;
    if (is_good && !json_is_array(servers))
        is_good = err_set(err, ERR_INVALID, "the answer of codex mcp list --json is not a list");
    size_t i;
    json_t *server;
    json_array_foreach(servers, i, server) {
        const char *name = json_string_value(json_object_get(server, "name"));
        const json_t *transport = json_object_get(server, "transport");
        if (name == NULL || strcmp(name, config->name) != 0)
            continue;
        config->entry = json_object();
        json_object_set(config->entry, "command", json_object_get(transport, "command"));
        json_object_set(config->entry, "args", json_object_get(transport, "args"));
    }
    json_decref(servers);
    json_decref(arguments);
    strbuf_fini(&out);
    return is_good;
}

/* The rest of the file is Lisp that only Emacs can interpret. */
static void find_form(struct client_config *config)
{
    char *begin = strbuf_format("(\"%s\" :command \"", config->name);
    const char *form = config->is_missing ? NULL : strstr(strbuf_string(&config->file.text), begin);
    if (form != NULL) {
        form += strlen(begin);
        size_t len = strcspn(form, "\"");
        config->presence = PRESENCE_OURS;
        if (len < sizeof config->command)
            memcpy(config->command, form, len);
    }
    free(begin);
}

static bool is_our_command(const char *command)
{
    const char *slash = strrchr(command, '/');
    return strcmp(slash == NULL ? command : slash + 1, "cl-mcp-server") == 0;
}

static void look_at_entry(struct client_config *config)
{
    const json_t *command = json_object_get(config->entry, "command");
    const char *program = json_string_value(json_is_array(command) ? json_array_get(command, 0) : command);
    if (program != NULL && strlen(program) < sizeof config->command)
        memcpy(config->command, program, strlen(program) + 1);
    if (config->entry != NULL)
        config->presence = is_our_command(config->command) ? PRESENCE_OURS : PRESENCE_OTHER;
}

bool client_config_read(struct client_config *config, const struct client *client, enum client_scope scope,
                        const char *name, struct err *err)
{
    *config = (struct client_config){.client = client, .scope = scope, .name = name};
    config->file.directory = -1;
    if (!read_file(config, err))
        return false;
    if (client->format == FORMAT_JSON && !read_json(config, err))
        return false;
    if (client->format == FORMAT_TOML && client->ways[scope] == WAY_COMMAND && !ask_codex(config, err))
        return false;
    look_at_entry(config);
    if (client->format == FORMAT_TOML && client->ways[scope] != WAY_COMMAND)
        config->presence = PRESENCE_UNKNOWN;
    if (client->format == FORMAT_ELISP)
        find_form(config);
    return true;
}

void client_config_fini(struct client_config *config)
{
    if (config->file.path != NULL)
        regular_file_fini(&config->file);
    json_decref(config->root);
    json_decref(config->entry);
    free(config->shown);
    free(config->path);
}

/* The arguments of the present entry, given. */
static json_t *present_arguments(const struct client_config *config)
{
    json_t *arguments;
    if (config->client->shape == SHAPE_COMBINED) {
        arguments = json_copy(json_object_get(config->entry, "command"));
        json_array_remove(arguments, 0);
    } else {
        arguments = json_copy(json_object_get(config->entry, "args"));
    }
    return arguments != NULL ? arguments : json_array();
}

json_t *client_config_entry(const struct client_config *config, const char *command, char **arguments)
{
    enum entry_shape shape = config->client->shape;
    json_t *list = arguments == NULL ? present_arguments(config) : json_array();
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        json_array_append_new(list, json_string(arguments[i]));
    if (shape == SHAPE_COMBINED)
        json_array_insert_new(list, 0, json_string(command));
    json_t *entry = json_object();
    if (shape == SHAPE_COMBINED || shape == SHAPE_STDIO)
        json_object_set_new(entry, "type", json_string(shape == SHAPE_STDIO ? "stdio" : "local"));
    if (shape == SHAPE_CUSTOM)
        json_object_set_new(entry, "source", json_string("custom"));
    if (shape == SHAPE_COMBINED && client_config_newer(config) == NULL)
        json_object_set_new(entry, "enabled", json_true());
    json_object_update(entry, config->entry);
    if (shape != SHAPE_COMBINED)
        json_object_set_new(entry, "command", json_string(command));
    json_object_set_new(entry, shape == SHAPE_COMBINED ? "command" : "args", list);
    const char *at_once = config->client->at_once;
    if (at_once != NULL && json_object_get(entry, at_once) == NULL)
        json_object_set_new(entry, at_once, json_true());
    return entry;
}

/* A project's is for everybody who works on it. */
static bool make_folder(const struct client_config *config, struct err *err)
{
    char *folder = xmemdup0(config->path, (size_t)(strrchr(config->path, '/') - config->path));
    bool is_made = config->scope == SCOPE_USER ? user_directory_make(folder, err)
                                               : mkdir(folder, 0777) == 0 || errno == EEXIST ||
                                                     err_set_errno(err, ERR_SYSTEM, errno, "%s", folder);
    free(folder);
    return is_made;
}

/* The mode is that of the file: it may contain secrets. */
static bool keep_backup(const struct client_config *config, struct err *err)
{
    char *path = strbuf_format("%s" CLIENT_CONFIG_BACKUP, config->path);
    unlink(path);
    bool is_kept = regular_file_create(path, config->file.status.st_mode & 0777,
                                       strbuf_string(&config->file.text), config->file.text.len, err);
    free(path);
    return is_kept;
}

bool client_config_write(struct client_config *config, const json_t *entry, struct err *err)
{
    json_t *servers = client_config_servers(config);
    if (servers == NULL) {
        servers = json_object();
        json_object_set_new(config->root, config->client->container, servers);
    }
    if (entry == NULL)
        json_object_del(servers, config->name);
    else
        json_object_set(servers, config->name, (json_t *)entry);
    char *text = json_numbers_dump(config->root, JSON_INDENT(2)), *after = strbuf_format("%s\n", text);
    size_t len = strlen(after);
    free(text);
    mode_t mode = config->scope == SCOPE_USER ? 0600 : 0666;
    bool is_written =
        config->is_missing
            ? make_folder(config, err) && regular_file_create(config->path, mode, after, len, err)
            : keep_backup(config, err) && regular_file_replace(&config->file, after, len, err);
    free(after);
    return is_written;
}
