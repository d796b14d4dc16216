/*
 * Responsible for the table of clients and for the locations of their files.
 */
#include "cli/clients.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "lisp/core.h"

/* clang-format off */
static const struct client table[] = {
    {.name = "claude-code", .title = "Claude Code", .container = "mcpServers", .shape = SHAPE_STDIO,
     .at_once = "alwaysLoad", .ways = {WAY_COMMAND, WAY_COMMAND}, .add = {"mcp", "add-json", "-s", "%scope", "%name", "%json"},
     .remove = {"mcp", "remove", "-s", "%scope", "%name"}, .refuses_to_replace = true,
     .files = {{"~/.claude.json"}, {".mcp.json"}},
     .variable = "CLAUDE_CONFIG_DIR", .name_in_variable = ".claude.json",
     .programs = {"claude"}, .signs = {"~/.claude.json", "~/.claude"}},
    {.name = "claude-desktop", .title = "Claude Desktop", .container = "mcpServers", .ways = {WAY_FILE},
     .files = {{"@/Claude/claude_desktop_config.json"}, {NULL}},
     .programs = {"claude-desktop"}, .signs = {"@/Claude"}},
    {.name = "codex", .title = "Codex", .format = FORMAT_TOML, .container = "mcp_servers",
     .ways = {WAY_COMMAND, WAY_PASTE}, .add = {"mcp", "add", "%name", "--", "%command", "%arguments"},
     .remove = {"mcp", "remove", "%name"},
     .files = {{"~/.codex/config.toml"}, {".codex/config.toml"}},
     .variable = "CODEX_HOME", .name_in_variable = "config.toml",
     .programs = {"codex"}, .signs = {"~/.codex"}},
    {.name = "gemini", .title = "Gemini CLI", .container = "mcpServers", .ways = {WAY_COMMAND, WAY_COMMAND},
     .add = {"mcp", "add", "-s", "%scope", "%name", "%command", "--", "%arguments"},
     .remove = {"mcp", "remove", "-s", "%scope", "%name"},
     .files = {{"~/.gemini/settings.json"}, {".gemini/settings.json"}},
     .programs = {"gemini"}, .signs = {"~/.gemini"}},
    {.name = "opencode", .title = "opencode", .container = "mcp", .newer = "servers", .shape = SHAPE_COMBINED,
     .files = {{"@/opencode/opencode.json", "@/opencode/opencode.jsonc"}, {"opencode.json", "opencode.jsonc"}},
     .programs = {"opencode"}, .signs = {"@/opencode"}},
    {.name = "vscode", .title = "VS Code", .container = "servers", .shape = SHAPE_STDIO,
     .ways = {WAY_COMMAND, WAY_PASTE}, .add = {"--add-mcp", "%named"},
     .files = {{"@/Code/User/mcp.json"}, {".vscode/mcp.json"}},
     .programs = {"code"}, .signs = {"@/Code/User"}},
    {.name = "cursor", .title = "Cursor", .container = "mcpServers", .ways = {WAY_FILE, WAY_FILE},
     .files = {{"~/.cursor/mcp.json"}, {".cursor/mcp.json"}},
     .programs = {"cursor", "cursor-agent"}, .signs = {"~/.cursor"}},
    {.name = "zed", .title = "Zed", .container = "context_servers", .shape = SHAPE_CUSTOM,
     .files = {{"@/zed/settings.json"}, {".zed/settings.json"}},
     .programs = {"zed", "zeditor"}, .signs = {"@/zed"}},
    {.name = "emacs", .title = "Emacs (mcp.el)", .format = FORMAT_ELISP,
     .files = {{"~/.emacs.el", "~/.emacs"}, {NULL}},
     .folders = {"~/.emacs.d", "@/emacs"}, .name_in_folder = "init.el",
     .programs = {"emacs"}, .signs = {"~/.emacs.d", "~/.emacs", "~/.emacs.el", "@/emacs"}},
    {.name = "eca", .title = "ECA", .container = "mcpServers", .ways = {WAY_FILE, WAY_FILE},
     .files = {{"@/eca/config.json"}, {".eca/config.json"}},
     .programs = {"eca"}, .signs = {"@/eca"}},
};
/* clang-format on */

const struct client *clients_at(size_t n)
{
    return n < sizeof table / sizeof table[0] ? &table[n] : NULL;
}

const struct client *clients_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static char *join(const char *directory, const char *name)
{
    return strbuf_format("%s/%s", directory, name);
}

/* An absolute path in a variable; any other value is ignored. */
static const char *directory_of(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

/* NULL: there is no home directory. */
static char *expand(const char *path)
{
    const char *home = directory_of("HOME"), *config = directory_of("XDG_CONFIG_HOME");
    if (path[0] == '@' && config != NULL)
        return join(config, path + 2);
    if (path[0] != '@' && path[0] != '~')
        return xstrdup(path);
    if (home == NULL)
        return NULL;
    char *directory = path[0] == '@' ? join(home, ".config") : xstrdup(home);
    char *whole = join(directory, path + 2);
    free(directory);
    return whole;
}

static bool exists(const char *path)
{
    struct stat s;
    return path != NULL && lstat(path, &s) == 0;
}

/* The first of the places that exists, given. NULL if there is none. */
static char *first_of(const char *const places[CLIENT_MOST_PLACES])
{
    for (size_t i = 0; i < CLIENT_MOST_PLACES && places[i] != NULL; i++) {
        char *path = expand(places[i]);
        if (exists(path))
            return path;
        free(path);
    }
    return NULL;
}

/* NULL: there is no home directory. */
static char *file_in_folder(const struct client *client)
{
    char *folder = first_of(client->folders);
    if (folder == NULL)
        folder = expand(client->folders[0]);
    char *path = folder == NULL ? NULL : join(folder, client->name_in_folder);
    free(folder);
    return path;
}

char *client_file(const struct client *client, enum client_scope scope)
{
    const char *directory =
        scope == SCOPE_USER && client->variable != NULL ? directory_of(client->variable) : NULL;
    if (directory != NULL)
        return join(directory, client->name_in_variable);
    char *path = first_of(client->files[scope]);
    if (path != NULL || client->files[scope][0] == NULL)
        return path;
    return scope == SCOPE_USER && client->folders[0] != NULL ? file_in_folder(client)
                                                             : expand(client->files[scope][0]);
}

char *find_program(const char *name)
{
    return core_find_program(name, getenv("PATH"));
}

bool client_is_found(const struct client *client)
{
    char *sign = first_of(client->signs);
    bool is_found = sign != NULL;
    free(sign);
    for (size_t i = 0; i < CLIENT_MOST_PLACES && !is_found && client->programs[i] != NULL; i++) {
        char *path = find_program(client->programs[i]);
        is_found = path != NULL;
        free(path);
    }
    return is_found;
}
